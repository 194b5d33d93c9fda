package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.RuleSettings;
import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.CurrentPolicy;
import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.node.proc.Hangable;
import dev.genv.enforcer.policy.PolicyDocument;
import dev.genv.enforcer.policy.PolicyInForce;
import dev.genv.enforcer.policy.PolicyValues;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policyfile.PolicyFile;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The policy of the variables, whose values those of a file override. While the file cannot be used, its last valid content applies. */
final class PolicySource implements CurrentPolicy.Source, CycleListener {
    private static final Duration LONGEST_READING = Duration.ofSeconds(1);
    private static final int LONGEST = 500;

    private final Hangable calls;
    private final Optional<Path> path;
    private final @Nullable PolicyFile file;
    private final PolicyValues base;
    private final IdleLimits idle;
    private PolicyDocument document;
    private @Nullable Latest latest;
    private volatile @Nullable String problem;

    private record Latest(PolicyDocument document, Instant at, PolicyInForce policy) {
        boolean applies(PolicyDocument present, Instant time) {
            return document.equals(present)
                    && !time.isBefore(at)
                    && policy.next().filter(next -> !time.isBefore(next.at())).isEmpty();
        }
    }

    /**
     * Reads the file.
     *
     * @throws IllegalArgumentException if it cannot be used, with the reason
     */
    PolicySource(Settings settings, ZoneId zone) {
        this(
                settings.general().policyFile(),
                RuleSettings.values(
                                settings.rules(),
                                settings.safety().exemptUsers(),
                                settings.safety().exemptCgroups())
                        .with(RuleSettings.others(settings.safety())),
                settings.idleLimits(),
                zone,
                LONGEST_READING);
    }

    PolicySource(Optional<Path> path, PolicyValues base, IdleLimits idle, ZoneId zone, Duration longestReading) {
        calls = new Hangable("policy-file", new Hangable.Limits(1, longestReading));
        this.path = path;
        this.base = base;
        this.idle = idle;
        file = path.map(its -> new PolicyFile(its, zone)).orElse(null);
        try {
            document = file == null ? PolicyDocument.empty(zone) : file.current();
        } catch (IOException e) {
            throw new IllegalArgumentException("%s: %s".formatted(path, Errno.textOf(e)), e);
        }
    }

    @Override
    public synchronized PolicyInForce at(Instant time) {
        look(time);
        var known = latest;
        if (known == null || !known.applies(document, time)) {
            var values = document.at(time, base);
            known = new Latest(
                    document,
                    time,
                    new PolicyInForce(values.policy(idle), values, document.over(base), document.next(time, base)));
            latest = known;
        }
        return known.policy;
    }

    /** Returns the values without those of the file. */
    PolicyValues ofVariables() {
        return base;
    }

    private void look(Instant time) {
        var watched = file;
        if (watched == null) {
            return;
        }
        try {
            calls.call("policy", null, () -> watched.currentIfSettled(time)).ifPresent(now -> {
                document = now;
                problem = null;
            });
        } catch (IOException e) {
            problem = SafeText.escape("%s: %s".formatted(path.orElseThrow(), Errno.textOf(e)), LONGEST);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void accept(CycleReport report) {}

    @Override
    public List<Problem> problems() {
        var now = problem;
        return now == null ? List.of() : List.of(new Problem(ProblemCode.POLICY_UNREADABLE, now));
    }
}
