package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.observation.state.LivenessSource;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Tells from what a host says who is alive there. */
final class RemoteLivenessSource implements LivenessSource {
    private static final Pattern UID = Pattern.compile("([0-9]{1,9})/status:Uid:\\s+([0-9]{1,10})\\s.*");

    /** In bytes; the script takes no more. */
    private static final int MOST_KERNELS = 1 << 20;

    private final BitSet alive = new BitSet();
    private final Map<Integer, Long> uids = new HashMap<>();
    /** The files of the kernels that run; null if unknown. */
    private final @Nullable Set<String> kernelFiles;

    /** How asking for the kernels ended; empty where nobody was asked. */
    private final String code;

    private boolean guessed;

    RemoteLivenessSource(Frames frames, String nonce) throws UnreachableException {
        var pids = frames.find("alive");
        if (pids.isPresent()) {
            alive.or(pids.get().pids());
        }
        var reported = frames.find("uids");
        if (reported.isPresent()) {
            reported.get()
                    .text()
                    .lines()
                    .map(UID::matcher)
                    .filter(line -> line.matches())
                    .filter(line -> alive.get(Integer.parseInt(line.group(1))))
                    .forEach(line -> uids.put(Integer.valueOf(line.group(1)), Long.valueOf(line.group(2))));
        }
        var kernels = frames.find("kernels");
        code = kernels.isEmpty() ? "" : kernels.get().at(0);
        kernelFiles = code.equals("0") ? kernelFiles(frames.one("kernel_files"), nonce) : null;
    }

    /** Null where not all processes could be asked. */
    private static @Nullable Set<String> kernelFiles(Frame frame, String nonce) throws UnreachableException {
        var bytes = frame.stream().getBytes(StandardCharsets.ISO_8859_1);
        if (bytes.length > MOST_KERNELS) {
            throw Frame.unreadable("kernel_files is longer than it can be");
        }
        var found = new String(bytes, StandardCharsets.UTF_8).split("\0", -1);
        // Ours stands behind them all, and an empty one behind that. Where some were gone by then, it says 1.
        var last = found.length < 2 ? "" : found[found.length - 2];
        if (!last.equals("/kernel-@%s 0.json".formatted(nonce))
                && !last.equals("/kernel-@%s 1.json".formatted(nonce))) {
            return null;
        }
        var names = new HashSet<String>();
        for (var each : found) {
            names.add(each.substring(Math.max(each.lastIndexOf('/'), each.lastIndexOf('=')) + 1));
        }
        return names;
    }

    @Override
    public List<Environment> alive(Collection<Environment> environments) {
        var living = new ArrayList<Environment>();
        for (var environment : environments) {
            var there = environment.pids().stream()
                    .distinct()
                    .filter(pid -> pid >= 0 && alive.get(pid))
                    .toList();
            if (!there.isEmpty() || hasKernel(environment)) {
                living.add(environment.with(there));
            }
        }
        return living;
    }

    @Override
    public Map<Integer, Long> uids(Collection<Environment> environments) {
        return Map.copyOf(uids);
    }

    /** Whether some process kept the others from being asked. */
    boolean kernelsHung() {
        return code.equals("137");
    }

    boolean kernelsAnswered() {
        return kernelFiles != null;
    }

    @Override
    public Optional<Problem> uncertainty() {
        return guessed
                ? Optional.of(LivenessSource.kernelsUnknown(
                        "reading the arguments of a process hangs, or all of them take too long"))
                : Optional.empty();
    }

    private boolean hasKernel(Environment environment) {
        if (environment.kernelIds().isEmpty()) {
            return false;
        }
        if (kernelFiles == null) {
            guessed = true;
            return true;
        }
        return environment.kernelIds().stream().anyMatch(kernel -> kernelFiles.contains("kernel-" + kernel + ".json"));
    }
}
