package dev.genv.enforcer.host;

import java.util.List;

/**
 * The processes that hold device files of GPUs although the GPU tool does not list them. A process holds a file if it has it open or
 * maps it. The kernel's device number decides, never a path.
 *
 * @param gpus the contents of {@code /proc/driver/nvidia/gpus/ADDRESS/information}, at most {@value #LARGEST_INFORMATION} bytes each
 * @param holders at most {@value #MOST_HOLDERS}, in any order
 * @param incomplete which processes were not examined and why, as a clause; empty if all were examined, or if none had to be
 */
public record HolderFacts(List<Bytes> gpus, List<Holder> holders, String incomplete) {
    public static final int MOST_HOLDERS = 256;
    public static final int LARGEST_INFORMATION = 4096;
    /** The largest number of descriptors, and of mapped files, that are examined of one process. */
    public static final int MOST_FILES = 16_384;
    /** The device files from this minor number on, such as {@code /dev/nvidiactl}, belong to no single GPU. */
    public static final int FIRST_SHARED_MINOR = 254;

    /**
     * A process that holds device files of GPUs.
     *
     * @param minors the minor numbers of the files: N of {@code /dev/nvidiaN}
     * @param mapped those of the files that it maps, which no other process can arrange; a file without a descriptor is only among them if
     *     the kernel permits to examine mappings
     */
    public record Holder(ProcessFacts process, List<Integer> minors, List<Integer> mapped) {}
}
