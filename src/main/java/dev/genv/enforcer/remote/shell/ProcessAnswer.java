package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The processes that the GPUs run, each with what a host tells of it. */
final class ProcessAnswer {
    private static final Membership UID_UNKNOWN = new Membership.Unknown("its real uid cannot be read");
    private static final Membership UNASKED =
            new Membership.Unknown("its environ cannot be read: no time was left to wait for its answer");

    private final Stats first;
    private final Stats again;
    private final Map<Integer, EnvironReading> recollections;
    private final Set<Integer> unasked;
    private final Protection protection;
    private final long before;
    private final Map<Integer, ProcessId> silent = new TreeMap<>();
    private final List<Problem> unreadable = new ArrayList<>();

    ProcessAnswer(Frames frames, String nonce, Protection protection) throws UnreachableException {
        var stats = frames.find("stats");
        first = stats.isEmpty() ? Stats.NONE : Stats.of(stats.get(), nonce);
        again = stats.isEmpty() ? Stats.NONE : Stats.of(frames.one("again"), nonce);
        recollections = EnvironReading.in(frames.every("memory"), nonce);
        unasked = numbers(frames.every("unasked"));
        this.protection = protection;
        before = frames.one("before").number(0);
    }

    /** Those of a listing that still are who they were. */
    List<GpuProcess> processes(
            Map<Integer, List<DeviceUsage>> usage, List<Problem> problems, Set<SnapshotPart> missing) {
        var processes = new ArrayList<GpuProcess>();
        usage.forEach((pid, uses) -> process(pid, uses).ifPresent(processes::add));
        if (!unreadable.isEmpty()) {
            missing.add(SnapshotPart.EVERY_PROCESS);
            problems.addAll(unreadable);
        }
        return processes;
    }

    /** Those that did not answer. */
    List<ProcessId> silent() {
        return List.copyOf(silent.values());
    }

    /** What was read of the environments of those of which that is whole. */
    Map<ProcessId, String> records() {
        var records = new HashMap<ProcessId, String>();
        recollections.forEach((pid, recollection) -> {
            var stat = first.stat(pid);
            if (stat != null) {
                recollection.records().ifPresent(text -> records.put(new ProcessId(pid, stat.startTime()), text));
            }
        });
        return records;
    }

    /** Whether it is there no longer; its pid may be that of another by now. */
    boolean hasEnded(ProcessId id) {
        return first.hasEnded(id);
    }

    private Optional<GpuProcess> process(int pid, List<DeviceUsage> uses) {
        if (first.gone().contains(pid) || again.gone().contains(pid)) {
            return Optional.empty();
        }
        var stat = first.stat(pid);
        var later = again.stat(pid);
        if (stat == null || later == null) {
            unreadable.add(
                    new Problem(ProblemCode.PROCESS_UNREADABLE, "process %d: its stat is unknown".formatted(pid)));
            return Optional.empty();
        }
        // Only if it is still the same process do the parts belong together; and whoever was started since the list was
        // asked for has only the pid of the one that is in it.
        if (stat.isZombie() || later.isZombie() || stat.startTime() != later.startTime() || stat.startTime() > before) {
            return Optional.empty();
        }
        var id = new ProcessId(pid, stat.startTime());
        var uid = first.uid(pid);
        var recollection = recollections.get(pid);
        return Optional.of(new GpuProcess(
                id,
                uid,
                later.command(),
                uid == null ? UID_UNKNOWN : membership(id, recollection),
                uses,
                protection.immunity(pid, later, uid, program(recollection))));
    }

    private Membership membership(ProcessId id, @Nullable EnvironReading recollection) {
        if (recollection != null && recollection.hasAnswered()) {
            return recollection.membership();
        }
        if (unasked.contains(id.pid())) {
            return UNASKED;
        }
        silent.put(id.pid(), id);
        return EnvironReading.SILENT;
    }

    private static EnvironReading.Program program(@Nullable EnvironReading recollection) {
        return recollection == null ? EnvironReading.UNKNOWN_PROGRAM : recollection.program();
    }

    private static Set<Integer> numbers(List<Frame> frames) throws UnreachableException {
        var numbers = new HashSet<Integer>();
        for (var frame : frames) {
            numbers.add((int) frame.number(0));
        }
        return numbers;
    }
}
