package dev.genv.enforcer.node.state;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.LockFacts.Holder;
import dev.genv.enforcer.host.StateFacts.LockFacts.Outcome;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.GenvLock.LockException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.SequencedSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Finds the holder of a file's flock(2) lock in {@code /proc/locks}. */
public record LockHolders(ProcFs proc) {
    /** Such as {@code 1: FLOCK  ADVISORY  WRITE 812 fe:00:2147295 0 EOF}; a process that waits has an arrow in front. */
    private static final Pattern LINE =
            Pattern.compile("\\d+: FLOCK +\\w+ +\\w+ +(-?\\d{1,9}) +(\\p{XDigit}{1,6}):(\\p{XDigit}{1,6}):(\\d+) .*");

    /** Users choose their number. */
    private static final int MOST_HOLDERS = 20;

    /** Returns the facts of a lock that is not available, with its holders. */
    LockFacts facts(LockException why, Duration limit, Duration waited) {
        var file = why.file();
        return file == null
                ? new LockFacts(Outcome.UNUSABLE, why.reason(), limit, waited, List.of())
                : new LockFacts(Outcome.TIMEOUT, "", limit, waited, holders(file));
    }

    /** Returns the pid of the holder; empty if unknown. */
    Optional<Integer> pid(FileStatus file) {
        try {
            return pids(file).stream().filter(pid -> pid > 0).findFirst();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Returns the holders, up to {@link #MOST_HOLDERS}; null if they cannot be read. */
    private @Nullable List<Holder> holders(FileStatus file) {
        try {
            var holders = new ArrayList<Holder>();
            for (var pid : pids(file).stream().limit(MOST_HOLDERS).toList()) {
                holders.add(pid > 0 ? holder(pid) : new Holder(pid, null, null));
            }
            return holders;
        } catch (IOException e) {
            return null;
        }
    }

    private Holder holder(int pid) throws IOException {
        var stat = proc.statBytes(pid);
        return stat instanceof Reading.Value<Bytes>(var bytes)
                ? new Holder(pid, bytes, proc.realUid(pid))
                : new Holder(pid, null, null);
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
