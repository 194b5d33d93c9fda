package dev.genv.enforcer.model;

import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * Memory that is used on devices although no listed process explains it, and the processes that hold the files of these devices
 * without being listed. Such a process does not necessarily use the memory: a monitoring program holds the files too.
 *
 * @param memory what is not explained, by the index of the device
 * @param holders sorted by process
 * @param isComplete whether every process was examined that may be a holder
 */
public record Unlisted(Map<Integer, Memory> memory, List<Holder> holders, boolean isComplete) {
    public static final Unlisted NONE = new Unlisted(Map.of(), List.of());

    /** Creates it for a search that examined every process. */
    public Unlisted(Map<Integer, Memory> memory, List<Holder> holders) {
        this(memory, holders, true);
    }

    public Unlisted {
        memory = Map.copyOf(memory);
        holders = holders.stream()
                .sorted(Comparator.comparing(holder -> holder.process().id()))
                .toList();
    }

    /**
     * A process that is not listed.
     *
     * @param process its usage names the devices with unexplained memory whose files it holds; its own memory is unknown
     * @param since when it was first found as a holder, in clock ticks since boot
     * @param used those of the devices that it proves to use: it maps their files, and no process that is listed there is its parent
     */
    public record Holder(GpuProcess process, long since, List<Integer> used) {}

    public List<GpuProcess> processes() {
        return holders.stream().map(Holder::process).toList();
    }
}
