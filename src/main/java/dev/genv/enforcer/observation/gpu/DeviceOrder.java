package dev.genv.enforcer.observation.gpu;

import dev.genv.enforcer.gpu.GpuToolProblems;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Records the GPUs and their first index. genv's state uses the index: if a GPU disappears and the others move up, earlier and later
 * attachments mean different GPUs, and the state does not show which.
 */
public final class DeviceOrder {
    private final Map<String, Integer> first = new HashMap<>();
    private final Map<String, Integer> firstIndices = new TreeMap<>();
    private String boot = "";

    /** Forgets the GPUs after a reboot, which changes the id: a GPU that was removed before is not lost. */
    public void recordBoot(String id) {
        if (!boot.equals(id)) {
            firstIndices.clear();
            boot = id;
        }
    }

    /** Returns a problem if a GPU that was listed before is no longer listed. */
    Optional<Problem> findLost(Map<String, Integer> now) {
        var lost = new TreeMap<>(firstIndices);
        lost.keySet().removeAll(now.keySet());
        firstIndices.putAll(now);
        return lost.isEmpty()
                ? Optional.empty()
                : Optional.of(new Problem(
                        ProblemCode.GPU_LOST,
                        "nvidia-smi listed %d GPU(s) before that it does not list now (%s): reset the GPU or reboot; if it was removed on purpose, restart genv-enforcer"
                                .formatted(lost.size(), GpuToolProblems.shorten(indices(lost)))));
    }

    private static String indices(Map<String, Integer> devices) {
        return devices.entrySet().stream()
                .map(device -> "%d: %s".formatted(device.getValue(), device.getKey()))
                .sorted()
                .collect(Collectors.joining(", "));
    }

    /** Returns a problem if a GPU has another index than before. */
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
                        "the GPUs have other indices than before (%s), so it is unknown which GPUs genv's attachments mean: detach all devices in devices.json and restart genv-enforcer, or restore the missing GPU"
                                .formatted(moved)));
    }
}
