package dev.genv.enforcer.enforcement.history.state;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.history.time.ObservedTime;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The devices that are and were attached to one environment. */
public final class AttachmentHistory {
    private final Ticker ticker;
    private final Map<Integer, Held> devices = new HashMap<>();

    /** A device that was attached, and that the service did not detach. */
    private static final class Held {
        /** When it was first seen as not attached; null while it is attached. */
        private @Nullable Instant missingSince;

        /** When the attachment appeared; null if the first observation found it. */
        private ObservedTime.@Nullable Moment appearedAt;

        /** Whether the device was seen as attached after the environment itself appeared. */
        private boolean known;
    }

    /** What is saved of a device; see {@link Held}. */
    public record Saved(@Nullable Instant missingSince, ObservedTime.@Nullable Moment appearedAt, boolean known) {}

    AttachmentHistory(Ticker ticker) {
        this.ticker = ticker;
    }

    Map<Integer, Saved> save() {
        var saved = new HashMap<Integer, Saved>();
        devices.forEach((device, held) -> saved.put(device, new Saved(held.missingSince, held.appearedAt, held.known)));
        return saved;
    }

    void restore(Map<Integer, Saved> saved) {
        saved.forEach((device, was) -> {
            var held = new Held();
            held.missingSince = was.missingSince;
            held.appearedAt = was.appearedAt;
            held.known = was.known;
            devices.put(device, held);
        });
    }

    /**
     * Records whether a device is attached.
     *
     * @param now the present time; null if attachments could not be read before, so that the age of this one is unknown
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

    /** Records that the environment appeared again: attachments that are seen from now on are new. */
    void environmentAppeared() {
        devices.values().forEach(held -> held.known = false);
    }

    /** Records that the service detached a device. */
    void detached(int device) {
        devices.remove(device);
    }

    /** When the attachment appeared; null if the first observation found it. */
    ObservedTime.@Nullable Moment appearedAt(int device) {
        var held = devices.get(device);
        return held == null ? null : held.appearedAt;
    }

    /** Returns the devices that were never attached, as far as the service observed. */
    List<Integer> neverAttached(List<Integer> used) {
        return used.stream().filter(device -> !devices.containsKey(device)).toList();
    }

    /** Returns the removal of these attachments; null if one of the devices was never attached, because its use was never allowed. */
    @Nullable
    StateChange removal(List<Integer> used) {
        if (used.isEmpty() || !neverAttached(used).isEmpty()) {
            return null;
        }
        var since = used.stream()
                .map(device -> Objects.requireNonNull(devices.get(device)).missingSince)
                .filter(Objects::nonNull)
                .min(Comparator.naturalOrder());
        var which = "device(s) " + used.toString().replaceAll("[\\[\\] ]", "");
        return new StateChange("attached to " + which, "not attached to " + which, since.orElseGet(ticker::now));
    }

    /** Returns the approximate size in bytes. */
    long bytes() {
        return 96L * devices.size();
    }
}
