package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.enforcement.host.Machine.DeviceUse;
import dev.genv.enforcer.enforcement.host.Machine.Examined;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.ImmunityRules;
import dev.genv.enforcer.observation.ProcessIdentity;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Decides directly before a signal, as the observer did before, whether a process is still the one that the rules checked.
 *
 * <p>A process may overwrite its environ and change its real uid. One that does so again and again avoids its termination, and it violated
 * a rule with each identity: so it is signalled whatever it is by then.
 */
final class SignalCheck {
    /** How often the identity of a process may have changed before the signal. */
    static final int MAX_CHANGES = 2;

    static final Result CHANGED = Result.failed("its identity has changed since the rules were checked");

    /** After so many observations without a change, a process that broke a rule was signalled or left in peace. */
    private static final int FORGOTTEN_AFTER = 6;

    private static final int MAX_REMEMBERED = 10_000;
    private static final Result GONE = Result.of(Outcome.ALREADY_GONE);
    private static final Result WITHOUT_DEVICE = Result.failed(
            "it is listed, but has no device file of the NVIDIA driver open or mapped, so it is not terminated");

    private long observations;
    private final Map<ProcessId, Changes> changed = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<ProcessId, Changes> eldest) {
            return size() > MAX_REMEMBERED;
        }
    };

    /** How often a process changed, and the number of the observation after which it did so last. */
    private record Changes(int count, long last) {}

    /** Records that the host is observed: what happened long ago no longer counts. */
    void recordObservation() {
        observations++;
        changed.values().removeIf(changes -> observations - changes.last > FORGOTTEN_AFTER);
    }

    /**
     * Returns why a process is not signalled; empty if it may be.
     *
     * @param checked as the rules checked it
     * @param environ its environ then
     * @param rules with the present files of the protected programs
     */
    Optional<Result> refusal(GpuProcess checked, ProgramEnviron environ, Examined now, ImmunityRules rules) {
        return switch (ProcessIdentity.of(now.facts())) {
            case ProcessIdentity.Gone _ -> Optional.of(GONE);
            case ProcessIdentity.Unreadable(var reason) -> Optional.of(Result.failed(reason));
            case ProcessIdentity.Present(var process) when !process.id().equals(checked.id()) -> Optional.of(GONE);
            case ProcessIdentity.Present(var process) -> {
                var immune = rules.immunity(process);
                if (immune != null) {
                    yield Optional.of(result(immune));
                }
                yield change(checked, environ, process).or(() -> refusal(now.devices()));
            }
        };
    }

    /** Returns what must not change before the signal; null for a process that has changed too often. */
    @Nullable
    String digest(Examined now, ProcessId process) {
        return count(process) >= MAX_CHANGES ? null : now.digest();
    }

    /** Records that a process was never what was examined a moment before. */
    void recordChange(ProcessId process) {
        changed.put(process, new Changes(count(process) + 1, observations));
    }

    private int count(ProcessId process) {
        var changes = changed.get(process);
        return changes == null ? 0 : changes.count;
    }

    /** Returns why a process is not signalled in this cycle: its identity is unknown, or another one than the rules checked. */
    private Optional<Result> change(GpuProcess checked, ProgramEnviron environ, ObservedProcess now) {
        if (checked.membership() instanceof Membership.Unknown && Objects.equals(now.uid(), checked.uid())) {
            return Optional.empty(); // a rule of real uids chose it
        }
        if (now.environ().content() instanceof ProgramEnviron.Content.Unavailable(var unknown)) {
            return Optional.of(Result.failed(unknown.reason()));
        }
        if (isSame(checked, environ, now.environ()) && Objects.equals(now.uid(), checked.uid())) {
            return Optional.empty();
        }
        if (checked.membership() instanceof Membership.Unknown) {
            return Optional.of(CHANGED);
        }
        recordChange(checked.id());
        return count(checked.id()) <= MAX_CHANGES ? Optional.of(CHANGED) : Optional.empty();
    }

    /**
     * Compares what the environ says now with what the rules checked. Nothing is inferred again: a program that has overwritten its
     * environ, before or since, belongs where it belonged.
     */
    private static boolean isSame(GpuProcess checked, ProgramEnviron environ, ProgramEnviron now) {
        return now.content() instanceof ProgramEnviron.Content.Intact(var named)
                ? named.equals(checked.membership())
                : now.isOfSameProgram(environ);
    }

    private static Optional<Result> refusal(DeviceUse use) {
        if (use.isProven()) {
            return Optional.empty();
        }
        return Optional.of(
                use.unexamined().isEmpty()
                        ? WITHOUT_DEVICE
                        : Result.failed("it is listed, but its open files cannot be examined, so it is not terminated: "
                                + use.unexamined()));
    }

    static Result result(Immunity immunity) {
        return new Result(
                switch (immunity.kind()) {
                    case PROTECTED -> Outcome.SKIPPED_PROTECTED;
                    case EXEMPT, PERHAPS_EXEMPT -> Outcome.SKIPPED_EXEMPT;
                },
                immunity.reason());
    }
}
