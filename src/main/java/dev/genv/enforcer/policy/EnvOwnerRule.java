package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.Ternary;
import dev.genv.enforcer.policy.Rule.RuleBasis;
import dev.genv.enforcer.policy.Rule.RuleCheck;
import dev.genv.enforcer.policy.Rule.RuleSetting;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Violated by a process that names the environment of another user, and by an environment whose owner is disputed. Users can forge
 * most of the compared data, so the rule terminates a process only if the kernel's uids prove that it is a stranger.
 */
final class EnvOwnerRule {
    static final RuleDefinition DEFINITION = new RuleDefinition(
            "env-owner",
            "Environment of another user or of a disputed owner",
            "Run `genv activate --gpus 1` in a new shell of your own, then start the job in that shell.",
            RuleMode.AUDIT,
            RuleBasis.UIDS,
            Set.of(SnapshotPart.ENVIRONMENTS),
            List.of(new RuleSetting("env-owner", RuleSetting.Kind.MODE, """
                Processes that run under another uid than the environment that they name, and environments whose recorded owners \
                disagree. `enforce` terminates a process only if the kernel proves that it belongs to another user. Use `audit` \
                first: a container that runs under another uid than its environment is such a process.\
                """)),
            Rule.ofHost(EnvOwnerRule::check));

    /** The largest number of disputed environments, and of unproven strangers, on a machine: users choose how many the state contains. */
    static final int MAX_FINDINGS = 100;

    private EnvOwnerRule() {}

    private static void check(Snapshot host, RuleCheck check) {
        var disputed = host.environments().stream()
                .filter(environment -> environment.ownership().isDisputed())
                .toList();
        disputed.stream().limit(MAX_FINDINGS).forEach(environment -> addDisputed(host, environment, check));
        var strangers = new ArrayList<Stranger>();
        var processes = host.processesByEnvironment();
        for (var environment : host.environments()) {
            var isProven = host.has(SnapshotPart.PROCESSES) && environment.isProven();
            processes.getOrDefault(environment.eid(), List.of()).stream()
                    .filter(process -> environment.uid() != null && environment.isStranger(process) == Ternary.YES)
                    .forEach(process -> strangers.add(new Stranger(environment, process, isProven)));
        }
        // Processes that can be terminated are all listed, so that others cannot displace them.
        var unproven = strangers.stream().filter(stranger -> !stranger.isProven).toList();
        strangers.stream().filter(Stranger::isProven).forEach(stranger -> addStranger(host, stranger, check));
        unproven.stream().limit(MAX_FINDINGS).forEach(stranger -> addStranger(host, stranger, check));
        if (disputed.size() > MAX_FINDINGS || unproven.size() > MAX_FINDINGS) {
            check.problem(
                    host,
                    ProblemCode.MORE_DISPUTES,
                    "%d environments are disputed and %d processes name another user's environment; only %d of the environments, and of the processes without proof, are listed: check who wrote envs.json"
                            .formatted(disputed.size(), strangers.size(), MAX_FINDINGS));
        }
    }

    private static void addStranger(Snapshot host, Stranger stranger, RuleCheck check) {
        var environment = stranger.environment();
        var process = stranger.process();
        var message = "Process %d of uid %d names environment %s of uid %d"
                .formatted(process.pid(), process.uid(), SafeText.escape(environment.eid()), environment.uid());
        check.add(
                Violation.of(process, environment, process.devices(), message, host, check),
                stranger.isProven() ? List.of(new Action.Terminate(host.host(), process)) : List.of());
    }

    private static void addDisputed(Snapshot host, Environment environment, RuleCheck check) {
        var why = String.valueOf(environment.ownership().dispute());
        var violation = new Violation(
                DEFINITION,
                host.host(),
                "environment " + environment.eid(),
                Messages.on(check.fleet(), host.host())
                        + "Environment %s is disputed: %s"
                                .formatted(SafeText.escape(environment.eid()), SafeText.escape(why)),
                environment.user().orElse(null),
                environment.eid(),
                List.of(),
                List.of());
        check.add(violation, List.of());
    }

    /**
     * A process in an environment of another user.
     *
     * @param isProven whether the kernel provides the uids of both sides
     */
    private record Stranger(Environment environment, GpuProcess process, boolean isProven) {}
}
