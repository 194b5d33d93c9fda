package dev.genv.enforcer.enforcement;

import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What the state said of one environment's attachments before. The time for people to notice a loss is given once: whoever
 * takes his own attachments away and puts them back in turn would else use many devices and hold few.
 */
final class AttachmentTestimony {
    /** How long an attachment must stand for its next loss to be a new one. */
    private static final Duration STANDS = Duration.ofHours(1);

    private final Ticker ticker;
    private final Set<Integer> attached = new HashSet<>();
    private final Map<Integer, Testimony.Seen> vanished = new HashMap<>();
    private final Map<Integer, Absence> absences = new HashMap<>();

    /** For how long an attachment was missing already, and when it was put back; null while it is not. */
    private record Absence(Duration length, @Nullable Long endedAt) {}

    AttachmentTestimony(Ticker ticker) {
        this.ticker = ticker;
    }

    void hear(int device, boolean isAttached) {
        if (isAttached) {
            attached.add(device);
            var loss = vanished.remove(device);
            var absence = absences.get(device);
            if (loss != null) {
                absences.put(device, new Absence(ticker.since(loss.mark()), ticker.mark()));
            } else if (absence != null && absence.endedAt == null) {
                absences.put(device, new Absence(absence.length, ticker.mark()));
            }
        } else if (attached.remove(device)) {
            var loss = Testimony.Seen.now(ticker, "attached to device " + device, "not attached to device " + device);
            vanished.put(device, loss.earlier(alreadyMissed(device)));
        }
    }

    void detached(int device) {
        attached.remove(device);
        vanished.remove(device);
    }

    void forget(Predicate<Testimony.Seen> isOld) {
        vanished.entrySet().removeIf(entry -> {
            var old = isOld.test(entry.getValue());
            if (old) {
                absences.put(
                        entry.getKey(),
                        new Absence(ticker.since(entry.getValue().mark()), null));
            }
            return old;
        });
    }

    /** The oldest loss among these devices; null where one of them was never lost: using that is wrong in any case. */
    Testimony.@Nullable Seen vanished(List<Integer> devices) {
        return vanished.keySet().containsAll(devices)
                ? devices.stream()
                        .map(vanished::get)
                        .filter(Objects::nonNull)
                        .min(Comparator.comparingLong(Testimony.Seen::mark))
                        .orElse(null)
                : null;
    }

    private Duration alreadyMissed(int device) {
        var absence = absences.remove(device);
        var stood = absence != null
                && absence.endedAt != null
                && ticker.since(absence.endedAt).compareTo(STANDS) >= 0;
        return absence == null || stood ? Duration.ZERO : absence.length;
    }
}
