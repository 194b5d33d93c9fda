package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.Problem;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Remembers which index each GPU had at first. genv's books go by the index: when a GPU goes and the others move up, what
 * was attached before means other GPUs than what is attached now, and nobody could tell the one from the other.
 */
public final class DeviceOrder {
    private final Map<String, Integer> first = new HashMap<>();

    /** What must be told where some GPU is not where it was. */
    public Optional<Problem> compare(Map<String, Integer> now) {
        var moved = new TreeMap<Integer, Integer>();
        now.forEach((uuid, index) -> {
            var before = first.putIfAbsent(uuid, index);
            if (before != null && !before.equals(index)) {
                moved.put(before, index);
            }
        });
        return moved.isEmpty()
                ? Optional.empty()
                : Optional.of(new Problem(
                        "devices_moved",
                        "the GPUs have other indices than before (%s), so it is not known which ones genv's attachments mean: detach what stands in devices.json and restart genv-enforcer, or bring the GPU that is missing back"
                                .formatted(moved)));
    }
}
