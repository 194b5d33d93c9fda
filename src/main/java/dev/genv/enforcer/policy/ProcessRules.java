package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Rule.RuleBasis;
import dev.genv.enforcer.policy.Rule.RuleCheck;
import dev.genv.enforcer.policy.Rule.RuleSetting;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The rules that a single process violates by the environment that it names and the devices that it uses. */
final class ProcessRules {
    /** Violated by a GPU process that is in no environment. */
    static final RuleDefinition NON_ENV_PROCESSES = new RuleDefinition(
            "non-env-processes",
            "Process outside all environments",
            "Run `genv activate --gpus 1` in a shell, then start the job in that shell. Without `--gpus` the"
                    + " environment has no GPU.",
            RuleMode.OFF,
            RuleBasis.LISTED_PROCESSES,
            Set.of(SnapshotPart.PROCESSES),
            List.of(new RuleSetting("non-env-processes", RuleSetting.Kind.MODE, """
                Processes that use a GPU and belong to no environment. `off` ignores them, `audit` reports them, `enforce` also \
                terminates them. `false` and `true` mean `off` and `enforce`, here and for the other rules. Use `audit` first.\
                """)),
            Rule.ofHost(ProcessRules::outside));

    /** Violated by a GPU process that names an environment which is not active. */
    static final RuleDefinition INACTIVE_ENV_PROCESSES = new RuleDefinition(
            "inactive-env-processes",
            "Process of an environment that is not active",
            """
            An environment ends with the shell that activated it, for example at logout, also if the job runs under nohup. \
            In a shell without an environment, start tmux, run `genv activate --gpus 1` inside tmux, then start the job there.\
            """,
            RuleMode.OFF,
            RuleBasis.LISTED_PROCESSES,
            Set.of(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS),
            List.of(new RuleSetting("inactive-env-processes", RuleSetting.Kind.MODE, """
                Processes that use a GPU and name an environment that is not active. `enforce` terminates them. Use `audit` \
                first: a `nohup` job whose shell has exited is such a process.\
                """)),
            Rule.ofHost(ProcessRules::inactive));

    /** Violated by a process of an active environment on a device that is not attached to the environment. */
    static final RuleDefinition ENV_DEVICES = new RuleDefinition(
            "env-devices",
            "GPU that is not attached to the environment",
            """
            Let the job use only GPUs that are attached to its environment. `genv attach --index N` in the shell of the environment \
            attaches GPU N if it is free. If you already hold as many GPUs as you may, first stop the job on a GPU M that you do not need, and \
            detach it with `genv detach --index M`: otherwise the service detaches GPU N again.\
            """,
            RuleMode.ENFORCE,
            RuleBasis.LISTED_PROCESSES,
            Set.of(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS),
            List.of(new RuleSetting("env-devices", RuleSetting.Kind.MODE, """
                Processes that use a GPU that is not attached to their environment. `enforce` terminates them. Use `audit` \
                while users get used to it.\
                """)),
            Rule.ofHost(ProcessRules::notAttached));

    private ProcessRules() {}

    private static void outside(Snapshot host, RuleCheck check) {
        for (var process : host.processes()) {
            if (process.membership() instanceof Membership.Outside) {
                var message = "Process %d is not running in a GPU environment".formatted(process.pid());
                addUnlessExcused(process, message, host, check);
            }
        }
    }

    private static void inactive(Snapshot host, RuleCheck check) {
        var environments = host.environmentsById();
        for (var process : host.processes()) {
            if (process.membership() instanceof Membership.InEnvironment(var eid) && !environments.containsKey(eid)) {
                var message = "Process %d names environment %s, which is not active"
                        .formatted(process.pid(), SafeText.escape(eid));
                addUnlessExcused(process, message, host, check);
            }
        }
    }

    /** Adds a process, unless environments that list it excuse it on all its devices. */
    private static void addUnlessExcused(GpuProcess process, String message, Snapshot host, RuleCheck check) {
        var devices = process.notExcused();
        if (!devices.isEmpty() || process.devices().isEmpty()) {
            check.add(
                    Violation.of(process, null, devices, message, host, check),
                    List.of(new Action.Terminate(host.host(), process)));
        }
    }

    private static void notAttached(Snapshot host, RuleCheck check) {
        var devices = host.devicesByIndex();
        var processes = host.processesByEnvironment();
        for (var environment : host.environments()) {
            for (var process : processes.getOrDefault(environment.eid(), List.of())) {
                var strange = process.notExcused().stream()
                        .filter(device -> isOthers(device, environment, devices))
                        .toList();
                if (!strange.isEmpty()) {
                    var message = "Process %d from environment %s is using non-attached GPU(s) %s"
                            .formatted(process.pid(), SafeText.escape(environment.eid()), Messages.list(strange));
                    check.add(
                            Violation.of(process, environment, strange, message, host, check),
                            List.of(new Action.Terminate(host.host(), process)));
                }
            }
        }
    }

    /** As in genv, a device that the state does not describe is attached to no environment. */
    private static boolean isOthers(int index, Environment environment, Map<Integer, Device> devices) {
        var device = devices.get(index);
        return device == null || !device.isAttachedTo(environment.eid());
    }
}
