package dev.genv.enforcer.enforcement;

import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The devices that one environment held, and holds. */
final class AttachmentHistory {
    private final Ticker ticker;
    private final Map<Integer, Held> devices = new HashMap<>();

    /** A device that was attached, and not detached by us. */
    private static final class Held {
        /** Since when it is not attached any more; null while it is. */
        private @Nullable Instant missingSince;

        /** When it appeared; null if the first observation found it. */
        private ObservedTime.@Nullable Moment appearedAt;

        /** Whether it was seen since the environment itself appeared. */
        private boolean known;
    }

    AttachmentHistory(Ticker ticker) {
        this.ticker = ticker;
    }

    /**
     * Takes in whether a device is attached.
     *
     * @param now null if attachments could not be read before: how old this one is, is not known
     */
    void record(int device, boolean isAttached, ObservedTime.@Nullable Moment now) {
        if (isAttached) {
            var held = devices.computeIfAbsent(device, _ -> new Held());
            held.missingSince = null;
            if (!held.known) {
                held.known = true;
                held.appearedAt = now;
            }
        } else {
            var held = devices.get(device);
            if (held != null && held.missingSince == null) {
                held.missingSince = ticker.now();
            }
        }
    }

    /** The environment appeared anew: what it holds from now on is as new as that. */
    void environmentAppeared() {
        devices.values().forEach(held -> held.known = false);
    }

    /** We took it out ourselves. */
    void detached(int device) {
        devices.remove(device);
    }

    /** When it appeared; null if the first observation found it. */
    ObservedTime.@Nullable Moment appearedAt(int device) {
        var held = devices.get(device);
        return held == null ? null : held.appearedAt;
    }

    /** Those of these devices that never were attached, as far as the service observed. */
    List<Integer> neverHeld(List<Integer> used) {
        return used.stream().filter(device -> !devices.containsKey(device)).toList();
    }

    /** That these devices were attached; null where one of them never was: using that is wrong in any case. */
    @Nullable
    Change removal(List<Integer> used) {
        if (used.isEmpty() || !neverHeld(used).isEmpty()) {
            return null;
        }
        var since = used.stream()
                .map(device -> Objects.requireNonNull(devices.get(device)).missingSince)
                .filter(Objects::nonNull)
                .min(Comparator.naturalOrder());
        var which = "device(s) " + used.toString().replaceAll("[\\[\\] ]", "");
        return new Change("attached to " + which, "not attached to " + which, since.orElseGet(ticker::now));
    }

    /** About how many bytes it takes. */
    long bytes() {
        return 96L * devices.size();
    }
}
