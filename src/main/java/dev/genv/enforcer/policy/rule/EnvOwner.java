package dev.genv.enforcer.policy.rule;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.plan.HostProblem;
import dev.genv.enforcer.policy.plan.Messages;
import dev.genv.enforcer.policy.plan.Violation;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Violated by a process that names the environment of another user, and by an environment whose owner is disputed. Users can forge
 * most of the compared data, so the rule terminates a process only if the kernel's uids prove that it is a stranger.
 */
public final class EnvOwner implements Rule {
    /** The largest number of findings of each kind on a machine: users choose how many the state contains. */
    static final int MAX_FINDINGS = 100;

    /**
     * A process in an environment of another user.
     *
     * @param isProven whether the kernel provides the uids of both sides
     */
    private record Stranger(Environment environment, GpuProcess process, boolean isProven) {}

    @Override
    public RuleDefinition name() {
        return RuleDefinition.ENV_OWNER;
    }

    @Override
    public RuleResult check(Fleet fleet, ExpectedExits ending) {
        var findings = new ArrayList<Finding>();
        var problems = new ArrayList<HostProblem>();
        for (var snapshot : fleet.snapshots()) {
            if (snapshot.has(SnapshotPart.ENVIRONMENTS)) {
                var disputed = snapshot.environments().stream()
                        .filter(environment -> environment.ownership().isDisputed())
                        .toList();
                var strangers = strangers(snapshot);
                disputed.stream()
                        .limit(MAX_FINDINGS)
                        .map(environment -> disputed(fleet, snapshot, environment))
                        .forEach(findings::add);
                // Processes that can be terminated come first, so that others cannot displace them.
                var proven = strangers.stream().filter(Stranger::isProven);
                var unproven = strangers.stream().filter(stranger -> !stranger.isProven);
                Stream.concat(proven, unproven.limit(MAX_FINDINGS))
                        .map(stranger -> stranger(fleet, snapshot, stranger))
                        .forEach(findings::add);
                if (disputed.size() > MAX_FINDINGS
                        || strangers.stream()
                                        .filter(stranger -> !stranger.isProven)
                                        .count()
                                > MAX_FINDINGS) {
                    problems.add(tooMany(snapshot.host(), disputed.size(), strangers.size()));
                }
            }
        }
        return new RuleResult(findings, problems);
    }

    private static List<Stranger> strangers(Snapshot snapshot) {
        var processes = snapshot.processesByEnvironment();
        return snapshot.environments().stream()
                .flatMap(environment -> processes.getOrDefault(environment.eid(), List.of()).stream()
                        .filter(process -> isStranger(snapshot, process, environment))
                        .map(process -> new Stranger(environment, process, isProven(snapshot, environment))))
                .toList();
    }

    private static HostProblem tooMany(String host, int disputed, int strangers) {
        return new HostProblem(
                host,
                new Problem(
                        ProblemCode.MORE_DISPUTES,
                        "%d environments are disputed and %d processes name another user's environment; only %d of each are listed: check who wrote envs.json"
                                .formatted(disputed, strangers, MAX_FINDINGS)));
    }

    /** A subordinate uid of the environment's user counts as that user, as in a user namespace. */
    private static boolean isStranger(Snapshot snapshot, GpuProcess process, Environment environment) {
        var uid = snapshot.userOf(process.uid(), environment);
        return uid != null && uid != 0 && environment.uid() != null && !uid.equals(environment.uid());
    }

    /**
     * Whether the kernel proves the owner of an environment: all its live pids have the recorded uid, and so has the shell that it is
     * named after, because another user may have replaced its entry. A container of genv's toolkit records root without a name.
     */
    private static boolean isProven(Snapshot snapshot, Environment environment) {
        return snapshot.has(SnapshotPart.PROCESSES)
                && !environment.ownership().isDisputed()
                && environment.user().isPresent()
                && environment.uid() != null
                && environment.ownership().uids().equals(Set.of(environment.uid()))
                && environment
                        .shell()
                        .map(snapshot.uidsOfPids()::get)
                        .filter(uid -> !uid.equals(environment.uid()))
                        .isEmpty();
    }

    private Finding stranger(Fleet fleet, Snapshot snapshot, Stranger stranger) {
        var environment = stranger.environment;
        var process = stranger.process;
        var message = Messages.on(fleet, snapshot.host())
                + "Process %d of uid %d names environment %s of uid %d"
                        .formatted(process.pid(), process.uid(), SafeText.escape(environment.eid()), environment.uid());
        var finding = Finding.ofProcess(
                name(),
                snapshot,
                process,
                message,
                environment.user().orElse(null),
                environment.eid(),
                process.devices());
        return stranger.isProven ? finding : new Finding(finding.violation(), List.of());
    }

    private Finding disputed(Fleet fleet, Snapshot snapshot, Environment environment) {
        var message = Messages.on(fleet, snapshot.host())
                + "Environment %s is disputed: %s"
                        .formatted(
                                SafeText.escape(environment.eid()),
                                SafeText.escape(
                                        String.valueOf(environment.ownership().dispute())));
        return new Finding(
                new Violation(
                        name(),
                        snapshot.host(),
                        "environment " + environment.eid(),
                        message,
                        environment.user().orElse(null),
                        environment.eid(),
                        List.of(),
                        List.of()),
                List.of());
    }
}
