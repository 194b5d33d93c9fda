package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Remembers which GPUs there were, and which index each had at first. genv's state goes by the index: when a GPU goes and the others move up, what
 * was attached before means other GPUs than what is attached now, and nobody could tell the one from the other.
 */
public final class DeviceOrder {
    private final Map<String, Integer> first = new HashMap<>();
    private final Map<String, Integer> seen = new TreeMap<>();
    private String boot = "";

    /**
     * Forgets which GPUs there were if the machine has been booted since: one that was removed before is not lost.
     *
     * @param id tells this boot from every other
     */
    public void boot(String id) {
        if (!boot.equals(id)) {
            seen.clear();
            boot = id;
        }
    }

    /** The problem where a GPU that was listed before is not listed any more. */
    Optional<Problem> lost(Map<String, Integer> now) {
        var lost = new TreeMap<>(seen);
        lost.keySet().removeAll(now.keySet());
        seen.putAll(now);
        return lost.isEmpty()
                ? Optional.empty()
                : Optional.of(new Problem(
                        ProblemCode.GPU_LOST,
                        "nvidia-smi listed %d GPU(s) before that it does not list now (%s): reset the GPU or reboot; if it was removed on purpose, restart genv-enforcer"
                                .formatted(lost.size(), GpuComplaints.shown(indices(lost)))));
    }

    private static String indices(Map<String, Integer> devices) {
        return devices.entrySet().stream()
                .map(device -> "%d: %s".formatted(device.getValue(), device.getKey()))
                .sorted()
                .collect(Collectors.joining(", "));
    }

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
                        ProblemCode.DEVICES_MOVED,
                        "the GPUs have other indices than before (%s), so it is not known which ones genv's attachments mean: detach what stands in devices.json and restart genv-enforcer, or bring the GPU that is missing back"
                                .formatted(moved)));
    }
}
