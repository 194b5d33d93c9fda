package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.TestUsers.ATTACKER_UID;
import static dev.genv.enforcer.e2e.TestUsers.HONEST_UID;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_NAME;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.IN_VICTIM_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.NEW_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_NAME;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.inEnvironment;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Attacks on the history that the service keeps of the state. */
final class HistoryAttacks {
    private static final int CONTAINER_UID = 54_003;
    /** A device that no environment holds before the attack. */
    private static final int FREE_DEVICE = 2;

    private static final String RENAMES_IN_PLACE = """
        import mmap
        file = open("devices.json", "r+b")
        content = mmap.mmap(file.fileno(), 0)
        start = content.find(b"\\"bobs\\"")
        content[start:start + 6] = b"\\"bobx\\""
        """;

    private HistoryAttacks() {}

    static List<Attack> onObservedEntries() {
        return List.of(
                Attack.named("deletes the victim's attachment, and the service is restarted")
                        .delayedByGrace()
                        .reporting("env-devices", "non-env-processes")
                        .by(node -> {
                            node.writeAsAttacker(node.validState().device(0));
                            node.awaitGraceOfVictimJob();
                            node.restartServiceAfter(_ -> {});
                            node.startStray();
                        }),
                Attack.named("removes the pid of the victim's SDK job, and the service is restarted")
                        .delayedByGrace()
                        .reporting("non-env-processes")
                        .by(node -> {
                            node.restartVictimJobThroughSdk();
                            node.writeAsAttacker(node.validState());
                            node.awaitGraceOfVictimJob();
                            node.restartServiceAfter(_ -> {});
                            node.startStray();
                        }),
                Attack.named(
                                "forges an old environment in the victim's name while the victim's job runs in a container")
                        .reporting("env-owner", "max-devices-per-user", "non-env-processes")
                        .by(node -> {
                            node.restartVictimJobAs(CONTAINER_UID);
                            node.writeAndStartStray(withOldEnvironment(node, node.validState()));
                        }),
                Attack.named("forges an old environment in the victim's name while the victim's job uses the SDK")
                        .reporting("max-devices-per-user", "non-env-processes")
                        .by(node -> {
                            node.restartVictimJobThroughSdk();
                            var files = node.withVictimPids(node.victimShell, node.victimJob());
                            node.writeAndStartStray(withOldEnvironment(node, files));
                        }),
                Attack.named(
                                "removes the victim's attachment while nvidia-smi runs, in every cycle, and restores it after that")
                        .reporting("non-env-processes")
                        .by(node -> {
                            var without = Files.writeString(
                                    node.directory.resolve("without"),
                                    node.validState().device(0).devicesJson());
                            var valid = Files.writeString(
                                    node.directory.resolve("valid"),
                                    node.validState().devicesJson());
                            var state = node.stateDirectory.resolve("devices.json");
                            node.gpus.fault("cat %1$s >%2$s; (sleep 0.4; cat %3$s >%2$s) >/dev/null 2>&1 &"
                                    .formatted(without, state, valid));
                            node.startStray();
                        }),
                Attack.named(
                                "renames the victim's new attachment through a shared mapping, which keeps the times of the file")
                        .delayedByGrace()
                        .reporting("env-devices", "non-env-processes")
                        .by(node -> {
                            endVictimJob(node);
                            node.writeAsAttacker(withoutAttachment(node).device(FREE_DEVICE, VICTIM_ENVIRONMENT));
                            node.startVictimJob(IN_VICTIM_ENVIRONMENT);
                            node.runAsAttacker("/usr/bin/python3 -c '" + RENAMES_IN_PLACE + "'");
                            useBoth(node);
                        }));
    }

    static List<Attack> onQuotas() {
        return List.of(Attack.named(
                        "adds an entry in the victim's name until it is detached, and another one when the victim attaches that device")
                .delayedByGrace()
                .reporting("env-owner", "max-devices-per-user", "non-env-processes")
                .by(node -> {
                    node.writeAsAttacker(node.withVictimsEnvironment("forged", node.victimShell)
                            .device(FREE_DEVICE, "forged"));
                    node.awaitLine("environment=\"forged\"", "outcome=detached");
                    node.restartVictimJobAs(node.startAs(CONTAINER_UID, IN_VICTIM_ENVIRONMENT));
                    node.writeAsAttacker(withForgedHolding(node));
                    node.awaitTwoObservations();
                    node.writeAsAttacker(withForgedHolding(node).device(FREE_DEVICE, VICTIM_ENVIRONMENT));
                    useBoth(node);
                }));
    }

    static List<Attack> onEndedEnvironments() {
        return List.of(
                Attack.named(
                                "adds the entry of an ended environment again, under whose id the victim's script starts its next job")
                        .delayedByGrace()
                        .reporting("env-devices", "non-env-processes")
                        .by(node -> {
                            allowInactive(node);
                            node.writeAsAttacker(withRevivedEnvironment(node, node.victimShell));
                            node.awaitTwoObservations();
                            node.startVictimJob(inEnvironment(NEW_ENVIRONMENT));
                            useBoth(node);
                        }),
                Attack.named("adds the entry of an ended environment again, in which the victim's job runs")
                        .reporting("env-devices", "non-env-processes")
                        .by(node -> {
                            startJobOfEndedEnvironment(node);
                            node.writeAsAttacker(withRevivedEnvironment(node, node.victimJob()));
                            node.useGpuAsAttacker(Map.of(), 1, 10);
                        }),
                Attack.named("does the same while a service with a database file is stopped")
                        .prepared(Node::addDatabase)
                        .reporting("env-devices", "non-env-processes")
                        .by(HistoryAttacks::reviveWhileTheServiceIsStopped),
                Attack.named("does the same while a service without a database file is stopped")
                        .delayedByGrace()
                        .reporting("env-devices", "non-env-processes")
                        .by(HistoryAttacks::reviveWhileTheServiceIsStopped),
                Attack.named(
                                "names the victim's environment, whose id has 300 characters; `GENV_ENFORCER_ENV_OWNER=enforce`")
                        .with("ENV_OWNER", "enforce")
                        .reporting("env-devices", "env-owner")
                        .by(node -> {
                            var id = "x".repeat(300);
                            node.writeAsAttacker(node.withVictimsEnvironment(id, node.victimShell));
                            node.awaitTwoObservations();
                            node.useGpuAsAttacker(inEnvironment(id), FREE_DEVICE, 10);
                        }),
                Attack.named("writes 5 MB of Jupyter kernels into the attacker's environments, thirty times")
                        .reporting("non-env-processes")
                        .by(node -> {
                            for (var write = 0; write < 30; write++) {
                                node.writeAsAttacker(withKernels(node, write));
                                node.awaitTwoObservations();
                            }
                            node.writeAndStartStray(node.validState());
                        }));
    }

    /** The attacker changes bob's new entry before the service observes it. */
    static List<Attack> onUnobservedEntries() {
        return List.of(
                Attack.named("deletes the victim's new attachment before the service observes it")
                        .delayedByGrace()
                        .reporting("env-devices", "non-env-processes")
                        .by(node -> {
                            endVictimJob(node);
                            node.writeAsAttacker(withoutAttachment(node).device(FREE_DEVICE, VICTIM_ENVIRONMENT));
                            node.startVictimJob(IN_VICTIM_ENVIRONMENT);
                            node.writeAsAttacker(withoutAttachment(node));
                            useBoth(node);
                        }),
                Attack.named("deletes the victim's new environment before the service observes it")
                        .delayedByGrace()
                        .reporting("inactive-env-processes", "non-env-processes")
                        .by(node -> {
                            startInNewEnvironment(node);
                            node.writeAsAttacker(withoutAttachment(node));
                            useBoth(node);
                        }),
                Attack.named("lowers the capacity of the victim's new environment before the service observes it")
                        .delayedByGrace()
                        .reporting("env-memory", "non-env-processes")
                        .by(node -> {
                            startInNewEnvironment(node);
                            node.writeAsAttacker(withNewEnvironment(node, "1m"));
                            useBoth(node);
                        }),
                Attack.named("removes the pid of the victim's new SDK job before the service observes it")
                        .delayedByGrace()
                        .reporting("non-env-processes")
                        .by(node -> {
                            node.closeVictimJob();
                            node.startVictimJob(Map.of());
                            node.writeAsAttacker(node.withVictimPids(node.victimShell, node.victimJob())
                                    .device(0));
                            node.writeAsAttacker(withoutAttachment(node));
                            useBoth(node);
                        }),
                Attack.named(
                                "forges an old environment in the victim's name while the service is stopped, and uses its device")
                        .preventingTermination()
                        .reporting("env-owner", "max-devices-per-user", "quota_undecided")
                        .by(node -> {
                            node.restartVictimJobAs(CONTAINER_UID);
                            node.restartServiceAfter(_ -> {
                                node.writeAsAttacker(withOldEnvironment(node, node.validState()));
                                node.useGpuAsAttacker(inEnvironment("forged"), FREE_DEVICE, 10);
                            });
                        }));
    }

    /** Restarts the service, so that a job of an ended environment is reported by no rule. */
    private static void allowInactive(TwoUserNode node) throws Exception {
        node.closeVictimJob();
        node.restartServiceAfter(_ -> node.node.set("INACTIVE_ENV_PROCESSES", "off"));
    }

    private static void startJobOfEndedEnvironment(TwoUserNode node) throws Exception {
        allowInactive(node);
        node.startVictimJob(inEnvironment(NEW_ENVIRONMENT));
        node.useGpuAsVictim(FREE_DEVICE);
        node.awaitTwoObservations();
    }

    private static void reviveWhileTheServiceIsStopped(TwoUserNode node) throws Exception {
        startJobOfEndedEnvironment(node);
        node.restartServiceAfter(_ -> node.writeAsAttacker(withRevivedEnvironment(node, node.victimJob())));
        node.useGpuAsAttacker(Map.of(), 1, 10);
    }

    /** The service observes that bob holds no device: it may see the old and the new entry in one observation. */
    private static void endVictimJob(TwoUserNode node) throws IOException {
        node.closeVictimJob();
        node.writeAsAttacker(withoutAttachment(node));
        node.awaitTwoObservations();
    }

    private static void startInNewEnvironment(TwoUserNode node) throws IOException {
        endVictimJob(node);
        node.writeAsAttacker(withNewEnvironment(node, null));
        node.startVictimJob(inEnvironment(NEW_ENVIRONMENT));
    }

    private static StateFiles withoutAttachment(TwoUserNode node) {
        return node.validState().device(0);
    }

    private static StateFiles withNewEnvironment(TwoUserNode node, @Nullable String capacity) {
        return withoutAttachment(node)
                .env(NEW_ENVIRONMENT, HONEST_UID, VICTIM_NAME, capacity, node.victimShell)
                .device(FREE_DEVICE, NEW_ENVIRONMENT);
    }

    private static StateFiles withRevivedEnvironment(TwoUserNode node, int pid) {
        return node.withVictimsEnvironment(NEW_ENVIRONMENT, pid).device(0);
    }

    private static void useBoth(TwoUserNode node) throws IOException {
        node.useGpuAsVictim(FREE_DEVICE);
        node.useGpuAsAttacker(Map.of(), 1, 10);
    }

    private static StateFiles withOldEnvironment(TwoUserNode node, StateFiles files) {
        return files.env("forged", HONEST_UID, VICTIM_NAME, null, node.victimShell)
                .device(FREE_DEVICE, new Attachment("forged", null, "01/01/2020 00:00:00"));
    }

    /** Another device in the victim's name, and none of the victim's own. */
    private static StateFiles withForgedHolding(TwoUserNode node) {
        return node.withVictimsEnvironment("forged", node.victimShell).device(0, "forged");
    }

    private static StateFiles withKernels(TwoUserNode node, int write) {
        var files = node.validState();
        for (var i = 0; i < 5; i++) {
            var eid = "kernels-%d-%d".formatted(write, i);
            var kernels = List.of("k".repeat(1 << 20));
            files.env(eid, ATTACKER_UID, ATTACKER_NAME, null, List.of(node.attackerShell), kernels);
        }
        return files;
    }
}
