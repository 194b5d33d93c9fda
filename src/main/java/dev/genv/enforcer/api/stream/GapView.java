package dev.genv.enforcer.api.stream;

import java.time.Instant;
import java.util.Locale;

/** The data of the event {@code gap}: the client must read the present state again. */
public record GapView(String type, Instant at, String reason) {
    static final String TYPE = "gap";

    static GapView of(Instant at, EventFrames.GapReason reason) {
        return new GapView(TYPE, at, reason.name().toLowerCase(Locale.ROOT));
    }
}
