package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.MemoryVictims.MemoryShare;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** Violated by an environment that uses more memory on one of its devices than its capacity. */
final class EnvMemoryRule implements Rule {
    static final RuleDefinition DEFINITION = new RuleDefinition(
            "env-memory",
            "More GPU memory than the environment has",
            """
                Reduce the memory that the job uses, or raise the capacity in the shell of the environment, for example with \
                `genv config gpu-memory 8g`.\
                """,
            RuleMode.ENFORCE,
            RuleScope.HOST,
            RuleBasis.LISTED_PROCESSES,
            Set.of(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS),
            List.of(new RuleSetting("env-memory", RuleSetting.Kind.MODE, """
                Environments that use more memory on an attached GPU than their capacity. `enforce` terminates processes of the \
                environment on that GPU until the rest fits. Use `audit` while users get used to it.\
                """)));

    @Override
    public RuleDefinition definition() {
        return DEFINITION;
    }

    @Override
    public RuleResult check(Fleet fleet, RuleContext context) {
        var findings = new ArrayList<RuleFinding>();
        var problems = new ArrayList<HostProblem>();
        var ending = context.ending();
        for (var snapshot : DEFINITION.checkable(fleet)) {
            var shares = MemoryShare.of(snapshot);
            var over = shares.stream().filter(MemoryShare::isExceeded).toList();
            var victims = new MemoryVictims(ending);
            over.forEach(share -> victims.add(share.capacity(), share.uses()));
            var chosen = victims.choose();
            for (var share : over) {
                findings.add(finding(fleet, share, chosen, ending));
            }
            snapshot.environments().stream()
                    .flatMap(environment -> problems(snapshot.host(), environment))
                    .forEach(problems::add);
            shares.stream().flatMap(EnvMemoryRule::problems).distinct().forEach(problems::add);
        }
        return new RuleResult(findings, problems);
    }

    /** A process that another rule terminates also frees memory here, so its action names both rules. */
    private static RuleFinding finding(Fleet fleet, MemoryShare share, Set<HostProcess> victims, ExpectedExits ending) {
        var environment = share.environment();
        var message = Messages.on(fleet, share.host())
                + "Environment %s is using %dm on device %d which is %dm over its capacity of %s"
                        .formatted(
                                SafeText.escape(environment.eid()),
                                share.used().megabytes(),
                                share.device(),
                                share.used().minus(share.capacity()).megabytes(),
                                SafeText.escape(
                                        String.valueOf(environment.config().gpuMemory())));
        var violation = new Violation(
                DEFINITION,
                share.host(),
                "environment %s device %d uid %s".formatted(environment.eid(), share.device(), share.uid()),
                message,
                environment.user().orElse(null),
                environment.eid(),
                List.of(share.device()),
                share.processes());
        var actions = share.processes().stream()
                .filter(process -> victims.contains(new HostProcess(share.host(), process.id()))
                        || (ending.isNow(share.host(), process)
                                && share.known(process).compareTo(Memory.ZERO) > 0))
                .<Action>map(process -> new Action.Terminate(share.host(), process))
                .toList();
        return new RuleFinding(violation, actions);
    }

    private static Stream<HostProblem> problems(String host, Environment environment) {
        var capacity = environment.config().gpuMemory();
        return capacity == null || environment.capacity().isPresent()
                ? Stream.empty()
                : Stream.of(new HostProblem(
                        host,
                        ProblemCode.CAPACITY_UNREADABLE,
                        "The memory capacity %s of environment %s is not a valid amount of memory"
                                .formatted(SafeText.escape(capacity), SafeText.escape(environment.eid()))));
    }

    private static Stream<HostProblem> problems(MemoryShare share) {
        return share.processes().stream()
                .filter(process -> process.memoryOn(share.device()) == null)
                .map(process -> new HostProblem(
                        share.host(),
                        ProblemCode.MEMORY_UNKNOWN,
                        "The driver does not report how much memory process %d of environment %s uses on device %d"
                                .formatted(
                                        process.pid(),
                                        SafeText.escape(share.environment().eid()),
                                        share.device())));
    }
}
