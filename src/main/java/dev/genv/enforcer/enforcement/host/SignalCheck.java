package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.observation.ImmunityRules;
import dev.genv.enforcer.observation.ProcessIdentity;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron;
import dev.genv.enforcer.observation.process.IdentityFlapping;
import dev.genv.enforcer.observation.process.IdentityFlapping.Comparison;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Decides directly before a signal, as the observer did before, whether a process is still the one that the rules checked.
 *
 * @param environ its environ when the rules checked it
 * @param immunity the immunity with the present files of the protected programs
 * @param known the immunity at the last observation
 */
public record SignalCheck(
        GpuProcess checked,
        ProgramEnviron environ,
        Function<List<Reading<ProgramFile>>, ImmunityRules> immunity,
        ImmunityRules known,
        IdentityFlapping identityFlapping) {
    /** A process as the machine itself found it, with the content of {@code /proc/PID/stat}. */
    public record Present(EnvironFacts facts, Bytes stat) {
        ProgramEnviron environ() {
            return ProcStat.tryParse(stat.text())
                    .map(now -> ProgramEnviron.of(facts, now, now))
                    .orElse(UNREADABLE);
        }
    }

    private static final ProgramEnviron UNREADABLE =
            ProgramEnviron.unavailable(new Membership.Unknown("its stat is unknown"));
    private static final Result CHANGED = Result.failed("its identity has changed since the rules were checked");

    /**
     * Returns why the process is not signalled; empty if it may be.
     *
     * @param now its present facts
     * @param programs the files of the protected programs now, because one may have been replaced since the rules were checked
     */
    public Optional<Result> refusal(ProcessFacts now, List<Reading<ProgramFile>> programs) {
        return switch (ProcessIdentity.of(now)) {
            case ProcessIdentity.Gone _ -> Optional.of(Result.of(Outcome.ALREADY_GONE));
            case ProcessIdentity.Unreadable(var reason) -> Optional.of(Result.failed(reason));
            case ProcessIdentity.Present(var process) ->
                process.id().equals(checked.id())
                        ? refusal(process, immunity.apply(programs))
                        : Optional.of(Result.of(Outcome.ALREADY_GONE));
        };
    }

    /**
     * Returns why the process is not signalled after the machine itself found another real uid or environ than expected; empty if it is
     * to be tried again with these.
     *
     * @param uid its real uid now; null if unknown
     * @param now its environ now, and the content of its stat; null if they were not read, because the uid differed
     */
    public Optional<Result> refusal(@Nullable Long uid, @Nullable Present now) {
        var exemption = known.exemption(uid);
        if (exemption != null) {
            return Optional.of(result(exemption));
        }
        var comparison = now == null ? Comparison.SAME : compare(now.environ());
        return uid == null || identityFlapping.isOther(checked, uid, comparison)
                ? Optional.of(CHANGED)
                : Optional.empty();
    }

    /** Returns the protected programs that a process of this real uid must not run, as of the last observation. */
    public Set<ProgramFile> protectedFiles(Long uid) {
        return known.protectedFiles(uid);
    }

    private Optional<Result> refusal(ObservedProcess process, ImmunityRules rules) {
        var immune = rules.immunity(process);
        if (immune != null) {
            return Optional.of(result(immune));
        }
        return identityFlapping.isOther(checked, process.uid(), compare(process.environ()))
                ? Optional.of(CHANGED)
                : Optional.empty();
    }

    /**
     * Compares what the environ says now with what the rules checked. Nothing is inferred again: a program that has overwritten its
     * environ, before or since, belongs where it belonged.
     */
    private Comparison compare(ProgramEnviron now) {
        return switch (now.content()) {
            case ProgramEnviron.Content.Unavailable _ -> Comparison.UNKNOWN;
            case ProgramEnviron.Content.Intact(var named) ->
                named.equals(checked.membership()) ? Comparison.SAME : Comparison.OTHER;
            case ProgramEnviron.Content.Overwritten() ->
                now.isOfSameProgram(environ) ? Comparison.SAME : Comparison.OTHER;
        };
    }

    static Result result(Immunity immunity) {
        return new Result(
                switch (immunity.kind()) {
                    case PROTECTED -> Outcome.SKIPPED_PROTECTED;
                    case EXEMPT -> Outcome.SKIPPED_EXEMPT;
                },
                immunity.reason());
    }
}
