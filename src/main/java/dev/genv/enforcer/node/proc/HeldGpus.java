package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.facts.HolderFacts;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Examines which device files of single GPUs processes hold. The kernel's device number decides, never the text of a link. */
final class HeldGpus {
    private final ProcFs proc;
    private final Set<Integer> majors;
    private @Nullable String mappingsUnreadable;

    /** Creates it for the driver as it is loaded now. */
    HeldGpus(ProcFs proc, NvidiaDevices devices) throws IOException {
        this.proc = proc;
        majors = devices.gpuMajors();
    }

    /**
     * What a process holds.
     *
     * @param minors N of each {@code /dev/nvidiaN}
     * @param unexamined what of it was not examined, as a clause; empty if all was
     */
    record Held(Set<Integer> minors, String unexamined) {}

    /** Whether the driver is not loaded, so that no process can hold a GPU. */
    boolean isImpossible() {
        return majors.isEmpty();
    }

    /**
     * Examines the descriptors and mappings of a process. The kernel can keep it waiting for the memory of the process.
     *
     * @throws IOException if its descriptors cannot be examined
     */
    Held examine(int pid) throws IOException {
        var minors = new TreeSet<Integer>();
        var examined = descriptors(pid, minors);
        if (mappingsUnreadable == null) {
            // A mapping keeps the file open although it has no descriptor.
            try {
                examined = Math.max(examined, collect(proc.file(pid, "map_files"), minors));
            } catch (NoSuchFileException e) {
                // It has exited, or its first thread has.
            } catch (IOException e) {
                mappingsUnreadable = "the mappings of processes cannot be examined: " + reason(e);
            }
        }
        return new Held(
                minors,
                examined < HolderFacts.MOST_FILES
                        ? mappingsUnreadable == null ? "" : mappingsUnreadable
                        : "a process has more than %d open files or mappings".formatted(HolderFacts.MOST_FILES));
    }

    /** The first thread may have exited, and then it shows no descriptors. */
    private int descriptors(int pid, Set<Integer> minors) throws IOException {
        var examined = collect(proc.file(pid, "fd"), minors);
        if (examined == 0) {
            try (var threads = Files.newDirectoryStream(proc.file(pid, "task"))) {
                for (var thread : threads) {
                    examined = Math.max(examined, collect(thread.resolve("fd"), minors));
                    if (examined > 0) {
                        break;
                    }
                }
            } catch (NoSuchFileException e) {
                // It has exited.
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
        }
        return examined;
    }

    /** Returns how many files it examined. */
    private int collect(Path folder, Set<Integer> minors) throws IOException {
        var examined = 0;
        try (var links = Files.newDirectoryStream(folder)) {
            for (var link : links) {
                if (++examined >= HolderFacts.MOST_FILES) {
                    break;
                }
                var number = NvidiaDevices.number(link);
                if (majors.contains(number.major()) && isOfOneGpu(number.minor())) {
                    minors.add(number.minor());
                }
            }
        } catch (NoSuchFileException e) {
            return examined; // it has exited
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return examined;
    }

    private static boolean isOfOneGpu(int minor) {
        return minor >= 0 && minor < HolderFacts.FIRST_SHARED_MINOR;
    }

    static String reason(IOException e) {
        return e instanceof FileSystemException problem && problem.getReason() != null
                ? problem.getReason()
                : e instanceof AccessDeniedException ? "Permission denied" : String.valueOf(e.getMessage());
    }
}
