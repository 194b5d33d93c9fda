package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Violated by an environment that holds a device on which nothing ran for a long time. */
final class IdleDevicesRule implements Rule {
    static final RuleDefinition DEFINITION = new RuleDefinition(
            "idle-devices",
            "GPU that is held and not used",
            """
                If you do not need GPU N, detach it with `genv detach --index N` in the shell of its environment, so that others can use \
                it.\
                """,
            RuleMode.AUDIT,
            RuleScope.HOST,
            RuleBasis.LISTED_PROCESSES,
            Set.of(
                    SnapshotPart.PROCESSES,
                    SnapshotPart.EVERY_PROCESS,
                    SnapshotPart.ENVIRONMENTS,
                    SnapshotPart.ATTACHMENTS),
            List.of(new RuleSetting("idle-devices", RuleSetting.Kind.MODE, """
                Attached GPUs on which no process ran, and no memory was used, for `GENV_ENFORCER_IDLE_AFTER`. `enforce` detaches them.\
                """)));

    @Override
    public RuleDefinition definition() {
        return DEFINITION;
    }

    @Override
    public RuleResult check(Fleet fleet, RuleContext context) {
        var findings = new ArrayList<RuleFinding>();
        for (var snapshot : DEFINITION.checkable(fleet)) {
            var environments = snapshot.environmentsById();
            for (var device : snapshot.devices()) {
                device.attachments().stream()
                        .map(Device.Attachment::eid)
                        .distinct()
                        .forEach(eid -> {
                            var environment = environments.get(eid);
                            var idle = fleet.idleness()
                                    .attachments()
                                    .getOrDefault(
                                            new Appearances.Key(snapshot.host(), eid, device.index()), Duration.ZERO);
                            if (environment != null
                                    && !environment.ownership().isDisputed()
                                    && environment
                                            .user()
                                            .isPresent() // of others it is unknown since when they hold a device
                                    && idle.compareTo(context.idle().after()) >= 0) {
                                findings.add(finding(fleet, snapshot, device, environment, context));
                            }
                        });
            }
        }
        return new RuleResult(findings);
    }

    /** The message has the limit and not the present time, because a text that changes in every cycle would be logged in each. */
    private static RuleFinding finding(
            Fleet fleet, Snapshot snapshot, Device device, Environment environment, RuleContext context) {
        var message = Messages.on(fleet, snapshot.host())
                + "Environment %s has not used device %d for %s"
                        .formatted(
                                SafeText.escape(environment.eid()),
                                device.index(),
                                context.idle().text());
        var violation = new Violation(
                DEFINITION,
                snapshot.host(),
                "environment %s device %d".formatted(environment.eid(), device.index()),
                message,
                environment.user().orElse(null),
                environment.eid(),
                List.of(device.index()),
                List.of());
        var actions = device.attachments().stream()
                .filter(attachment -> attachment.eid().equals(environment.eid()))
                .<Action>map(attachment -> new Action.Detach(snapshot.host(), environment, device.index(), attachment))
                .toList();
        return new RuleFinding(violation, actions);
    }
}
