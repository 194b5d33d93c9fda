package dev.genv.enforcer.node.state;

import dev.genv.enforcer.files.FileStatus;
import dev.genv.enforcer.node.proc.ProcFs;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.SequencedSet;
import java.util.regex.Pattern;

/** Finds the holder of a file's flock(2) lock in {@code /proc/locks}. */
public final class LockHolders {
    /** Such as {@code 1: FLOCK  ADVISORY  WRITE 812 fe:00:2147295 0 EOF}; a process that waits has an arrow in front. */
    private static final Pattern LINE =
            Pattern.compile("\\d+: FLOCK +\\w+ +\\w+ +(-?\\d{1,9}) +(\\p{XDigit}{1,6}):(\\p{XDigit}{1,6}):(\\d+) .*");

    private static final int MAX_NAMED = 3;

    private final ProcFs proc;

    public LockHolders(ProcFs proc) {
        this.proc = proc;
    }

    /** Explains why genv's lock is not available, and which process holds it. */
    String explain(LockException why) {
        var file = why.file();
        return why.getMessage() + (file == null ? "" : ": " + describe(file));
    }

    /** Returns the pid of the holder; empty if unknown. */
    Optional<Integer> pid(FileStatus file) {
        try {
            return pids(file).stream().filter(pid -> pid > 0).findFirst();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private String describe(FileStatus file) {
        try {
            var pids = pids(file);
            if (pids.isEmpty()) {
                return "/proc/locks does not show the holder";
            }
            var named = new ArrayList<String>();
            for (var pid : pids.stream().limit(MAX_NAMED).toList()) {
                named.add(name(pid));
            }
            var more = pids.size() - named.size();
            return String.join(", ", named) + (more > 0 ? " and %d more".formatted(more) : "");
        } catch (IOException e) {
            return "the holder cannot be read: " + e.getMessage();
        }
    }

    private String name(int pid) throws IOException {
        if (pid <= 0) {
            return "a process of another PID namespace";
        }
        var stat = proc.stat(pid);
        var uid = stat.isEmpty() ? null : proc.realUid(pid);
        return stat.isEmpty() || uid == null
                ? "process %d, which has exited; a child of it may still hold the lock".formatted(pid)
                : "process %d (%s) of uid %d".formatted(pid, stat.get().command(), uid);
    }

    /** Some file systems, such as btrfs, show another device number there than in stat(2); then the inode alone decides. */
    private SequencedSet<Integer> pids(FileStatus file) throws IOException {
        var exact = new LinkedHashSet<Integer>();
        var byDevice = new LinkedHashMap<Long, SequencedSet<Integer>>();
        var inode = Long.toUnsignedString(file.inode());
        for (var line : proc.machine().locks()) {
            var lock = LINE.matcher(line);
            if (lock.matches() && lock.group(4).equals(inode)) {
                var device =
                        FileStatus.device(Integer.parseInt(lock.group(2), 16), Integer.parseInt(lock.group(3), 16));
                (device == file.device() ? exact : byDevice.computeIfAbsent(device, _ -> new LinkedHashSet<>()))
                        .add(Integer.parseInt(lock.group(1)));
            }
        }
        if (exact.isEmpty() && byDevice.size() == 1) {
            return byDevice.values().iterator().next();
        }
        return exact;
    }
}
