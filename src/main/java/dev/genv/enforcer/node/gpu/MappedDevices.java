package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.host.HolderFacts;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.node.gpu.MappedFiles.FileKey;
import dev.genv.enforcer.node.gpu.NvidiaDevices.Use;
import dev.genv.enforcer.node.proc.ProcFs;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Looks for device files of the driver that processes map. */
final class MappedDevices {
    private final ProcFs proc;
    private final Set<Integer> majors;

    /** @param majors the major numbers of the device files */
    MappedDevices(ProcFs proc, Set<Integer> majors) {
        this.proc = proc;
        this.majors = majors;
    }

    /**
     * Compares the files that a process maps with the device files of the machine and of the container of the process, because the kernel
     * permits to examine a mapping itself only with the capability SYS_ADMIN or CHECKPOINT_RESTORE. A process can map a device file that
     * is in neither folder, so then each mapping is examined. The kernel can keep the call waiting for the memory of the process.
     *
     * @throws IOException if the mappings cannot be read
     */
    Use examine(int pid) throws IOException {
        var maps = maps(pid);
        var files = MappedFiles.parse(maps);
        if (Stream.of(1, pid).anyMatch(each -> hasDeviceAmong(files.keySet(), proc.file(each, "root/dev")))) {
            return Use.PROVEN;
        }
        var unexamined = maps.length == MappedFiles.LARGEST ? "it has too many mappings" : "";
        var examined = 0;
        for (var range : files.values()) {
            if (++examined > HolderFacts.MOST_FILES) {
                return new Use(false, "it maps more than %d files".formatted(HolderFacts.MOST_FILES));
            }
            try {
                if (NvidiaDevices.isOneOf(
                        majors, FileCalls.status(proc.file(pid, "map_files").resolve(range)))) {
                    return Use.PROVEN;
                }
            } catch (Errno e) {
                if (e.is(Errno.EPERM)) {
                    return new Use(false, "the mappings of processes cannot be examined: " + e.getMessage());
                }
                if (!e.is(Errno.ENOENT)) { // it was unmapped
                    unexamined = String.valueOf(e.getMessage());
                }
            }
        }
        return new Use(false, unexamined);
    }

    /** The first thread may have exited, and then it shows no mappings. */
    private byte[] maps(int pid) throws IOException {
        var maps = mapsOf(proc.file(pid, ""));
        if (maps.length > 0) {
            return maps;
        }
        try (var threads = Files.newDirectoryStream(proc.file(pid, "task"))) {
            for (var thread : threads) {
                maps = mapsOf(thread);
                if (maps.length > 0) {
                    break;
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return maps;
    }

    private static byte[] mapsOf(Path task) throws IOException {
        try {
            return ProcFs.read(task.resolve("maps"), MappedFiles.LARGEST);
        } catch (NoSuchFileException e) {
            return new byte[0]; // it has exited
        }
    }

    /** The names are not listed, because a user chooses how many files a container has. */
    private boolean hasDeviceAmong(Set<FileKey> files, Path folder) {
        return Stream.concat(
                        Stream.of("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"),
                        IntStream.range(0, HolderFacts.FIRST_SHARED_MINOR).mapToObj("nvidia%d"::formatted))
                .anyMatch(name -> isDeviceAmong(files, folder.resolve(name)));
    }

    private boolean isDeviceAmong(Set<FileKey> files, Path file) {
        try {
            var status = FileCalls.status(file);
            return NvidiaDevices.isOneOf(majors, status) && files.contains(FileKey.of(status));
        } catch (Errno e) {
            return false; // what is mapped is examined
        }
    }
}
