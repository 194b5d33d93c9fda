package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Broken by a process that names the environment of another user, and by an environment whose owner is disputed. Most of
 * what it compares can be forged. So only a process is terminated of which the kernel says that it is a stranger.
 */
final class EnvOwner implements Rule {
    /** Of each kind, on one machine: anybody can write as many into the state as it holds. */
    static final int MOST = 100;

    /**
     * A process in an environment of another user.
     *
     * @param isProven whether the uids on both sides are the kernel's
     */
    private record Stranger(Environment environment, GpuProcess process, boolean isProven) {}

    @Override
    public RuleName name() {
        return RuleName.ENV_OWNER;
    }

    @Override
    public Verdict check(Fleet fleet, Ending ending) {
        var findings = new ArrayList<Finding>();
        var problems = new ArrayList<HostProblem>();
        for (var snapshot : fleet.snapshots()) {
            if (snapshot.knows(Part.ENVIRONMENTS)) {
                var disputed = snapshot.environments().stream()
                        .filter(environment -> environment.ownership().isDisputed())
                        .toList();
                var strangers = strangers(snapshot);
                disputed.stream()
                        .limit(MOST)
                        .map(environment -> disputed(fleet, snapshot, environment))
                        .forEach(findings::add);
                // A process that can be terminated is not hidden by others that cannot.
                var proven = strangers.stream().filter(Stranger::isProven);
                var unproven = strangers.stream().filter(stranger -> !stranger.isProven);
                Stream.concat(proven, unproven.limit(MOST))
                        .map(stranger -> stranger(fleet, snapshot, stranger))
                        .forEach(findings::add);
                if (disputed.size() > MOST
                        || strangers.stream()
                                        .filter(stranger -> !stranger.isProven)
                                        .count()
                                > MOST) {
                    problems.add(tooMany(snapshot.host(), disputed.size(), strangers.size()));
                }
            }
        }
        return new Verdict(findings, problems);
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
                        "%d environments are disputed and %d processes name another user's environment; of each only %d are listed: see who wrote envs.json"
                                .formatted(disputed, strangers, MOST)));
    }

    /** A subordinate uid of the environment's user is that user's, as in a user namespace. */
    private static boolean isStranger(Snapshot snapshot, GpuProcess process, Environment environment) {
        var uid = snapshot.subordinateUids().ownerOf(process.uid());
        return uid != null && uid != 0 && environment.uid() != null && !uid.equals(environment.uid());
    }

    /**
     * Whether the kernel says whose environment it is: all its live pids are of the recorded uid, and the shell that it is
     * named after is of no other, for its entry may have been replaced by another user's. A container of genv's own
     * toolkit records root without a name, whoever runs in it.
     */
    private static boolean isProven(Snapshot snapshot, Environment environment) {
        return snapshot.knows(Part.PROCESSES)
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
        var message = Words.on(fleet, snapshot.host())
                + "Process %d of uid %d names environment %s of uid %d"
                        .formatted(process.pid(), process.uid(), Words.safe(environment.eid()), environment.uid());
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
        var message = Words.on(fleet, snapshot.host())
                + "Environment %s is disputed: %s"
                        .formatted(
                                Words.safe(environment.eid()),
                                Words.safe(
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
