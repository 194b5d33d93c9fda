package dev.genv.enforcer.model;

import java.util.Locale;

/** A constant of an enum with a name for JSON, metrics and the log, such as {@code state_unreadable}. */
public interface Labelled {
    String name();

    default String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
