package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.format.ProcStat;
import dev.genv.enforcer.model.ProcessId;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What the kernel said of processes at about one moment.
 *
 * @param stats of those of which it could be understood
 * @param uids the real ones
 * @param gone those that were not there
 */
record Stats(Map<Integer, ProcStat> stats, Map<Integer, Long> uids, Set<Integer> gone) {
    private static final Pattern UID = Pattern.compile("[0-9]{1,10}");

    static final Stats NONE = new Stats(Map.of(), Map.of(), Set.of());

    static Stats of(Frame frame, String nonce) throws UnreachableException {
        var stats = new HashMap<Integer, ProcStat>();
        var uids = new HashMap<Integer, Long>();
        var gone = new HashSet<Integer>();
        for (var mark : Section.in(frame.text(), nonce)) {
            switch (mark.word()) {
                case "stat" -> parse(mark.content()).ifPresent(stat -> stats.put(mark.pid(), stat));
                case "uid" -> {
                    if (UID.matcher(mark.word(1)).matches()) {
                        uids.put(mark.pid(), Long.valueOf(mark.word(1)));
                    }
                }
                case "gone" -> gone.add(mark.pid());
                default -> throw Frame.unreadable("unknown line about a process: " + mark.word());
            }
        }
        return new Stats(stats, uids, gone);
    }

    /** Nothing where it is not what a kernel says. */
    static Optional<ProcStat> parse(String text) {
        try {
            var bytes = text.getBytes(StandardCharsets.ISO_8859_1);
            return Optional.of(ProcStat.parse(new String(bytes, StandardCharsets.UTF_8)));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    @Nullable
    ProcStat stat(int pid) {
        return stats.get(pid);
    }

    @Nullable
    Long uid(int pid) {
        return uids.get(pid);
    }

    /** Whether this very process is there no longer; what was not told is not so. A zombie is gone. */
    boolean hasEnded(ProcessId id) {
        var stat = stats.get(id.pid());
        return stat == null ? gone.contains(id.pid()) : stat.isZombie() || stat.startTime() != id.startTime();
    }
}
