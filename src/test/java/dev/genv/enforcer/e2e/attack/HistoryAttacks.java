package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_NAME;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_NAME;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Attacks on the history that the service keeps of the state. */
final class HistoryAttacks {
    private static final int CONTAINER_UID = 54_003;
    private static final int MEGABYTE = 1 << 20;
    private static final int LARGE_WRITES = 30;
    private static final int KERNELS = 5;
    private static final Map<String, String> IN_NEW_ENVIRONMENT =
            Map.of("GENV_ENVIRONMENT_ID", UnobservedAttacks.NEW_ENVIRONMENT);
    private static final String RENAMES_IN_PLACE = """
        import mmap
        file = open("devices.json", "r+b")
        content = mmap.mmap(file.fileno(), 0)
        start = content.find(b"\\"bobs\\"")
        content[start:start + 6] = b"\\"bobx\\""
        """;

    private HistoryAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.delayedByGrace(
                        "deletes the victim's attachment, and the service is restarted",
                        twoUserNode -> {
                            twoUserNode.writeAsAttacker(twoUserNode.validState().device(0));
                            twoUserNode.awaitGraceOfVictimJob();
                            twoUserNode.restartServiceAfter(_ -> {});
                            AttackSteps.startStray(twoUserNode);
                        },
                        "env-devices",
                        "non-env-processes"),
                Attack.delayedByGrace(
                        "removes the pid of the victim's SDK job, and the service is restarted",
                        twoUserNode -> {
                            twoUserNode.restartVictimJobThroughSdk();
                            twoUserNode.writeAsAttacker(twoUserNode.validState());
                            twoUserNode.awaitGraceOfVictimJob();
                            twoUserNode.restartServiceAfter(_ -> {});
                            AttackSteps.startStray(twoUserNode);
                        },
                        "non-env-processes"),
                Attack.withoutEffect(
                        "forges an old environment in the victim's name while the victim's job runs in a container",
                        twoUserNode -> {
                            twoUserNode.restartVictimJobAs(CONTAINER_UID);
                            twoUserNode.writeAsAttacker(withForgedEnvironment(twoUserNode.validState(), twoUserNode));
                            AttackSteps.startStray(twoUserNode);
                        },
                        "env-owner",
                        "max-devices-per-user",
                        "non-env-processes"),
                Attack.withoutEffect(
                        "forges an old environment in the victim's name while the victim's job uses the SDK",
                        twoUserNode -> {
                            twoUserNode.restartVictimJobThroughSdk();
                            twoUserNode.writeAsAttacker(withForgedEnvironment(
                                    twoUserNode
                                            .validState()
                                            .env(
                                                    VICTIM_ENVIRONMENT,
                                                    TestUsers.HONEST_UID,
                                                    VICTIM_NAME,
                                                    "1000mi",
                                                    twoUserNode.victimShell(),
                                                    twoUserNode.victimJob()),
                                    twoUserNode));
                            AttackSteps.startStray(twoUserNode);
                        },
                        "max-devices-per-user",
                        "membership_unknown",
                        "non-env-processes"),
                Attack.withoutEffect(
                        "removes the victim's attachment while nvidia-smi runs, in every cycle, and restores it after"
                                + " that",
                        twoUserNode -> {
                            var files = twoUserNode.node.directory;
                            var without = Files.writeString(
                                    files.resolve("without"),
                                    twoUserNode.validState().device(0).devicesJson());
                            var valid = Files.writeString(
                                    files.resolve("valid"),
                                    twoUserNode.validState().devicesJson());
                            var state = twoUserNode.node.stateDirectory.resolve("devices.json");
                            twoUserNode.node.gpus.fault("cat %s >%s; (sleep 0.4; cat %s >%s) >/dev/null 2>&1 &"
                                    .formatted(without, state, valid, state));
                            AttackSteps.startStray(twoUserNode);
                        },
                        "non-env-processes"),
                Attack.delayedByGrace(
                        "renames the victim's new attachment through a shared mapping, which keeps the times of the"
                                + " file",
                        twoUserNode -> {
                            twoUserNode.closeVictimJob();
                            var files = twoUserNode.validState().device(0).device(2, VICTIM_ENVIRONMENT);
                            twoUserNode.writeAsAttacker(files);
                            twoUserNode.startVictimJob(Map.of("GENV_ENVIRONMENT_ID", VICTIM_ENVIRONMENT));
                            twoUserNode.runAsAttacker("/usr/bin/python3 -c '" + RENAMES_IN_PLACE + "'");
                            twoUserNode.useGpuAsVictim(2);
                            twoUserNode.useGpuAsAttacker(Map.of(), 1, 10);
                        },
                        "env-devices",
                        "non-env-processes"),
                Attack.delayedByGrace(
                        "adds the entry of an ended environment again, under whose id the victim's script starts its"
                                + " next job",
                        twoUserNode -> {
                            allowInactive(twoUserNode);
                            twoUserNode.writeAsAttacker(withRevivedEnvironment(twoUserNode, twoUserNode.victimShell()));
                            twoUserNode.awaitTwoObservations();
                            twoUserNode.startVictimJob(IN_NEW_ENVIRONMENT);
                            startBoth(twoUserNode);
                        },
                        "env-devices",
                        "non-env-processes"),
                Attack.withoutEffect(
                        "adds the entry of an ended environment again, in which the victim's job runs",
                        twoUserNode -> {
                            allowInactive(twoUserNode);
                            twoUserNode.startVictimJob(IN_NEW_ENVIRONMENT);
                            twoUserNode.useGpuAsVictim(2);
                            twoUserNode.awaitTwoObservations();
                            twoUserNode.writeAsAttacker(withRevivedEnvironment(twoUserNode, twoUserNode.victimJob()));
                            twoUserNode.useGpuAsAttacker(Map.of(), 1, 10);
                        },
                        "env-devices",
                        "non-env-processes"),
                Attack.withoutEffect(
                                "does the same while a service with a database file is stopped",
                                HistoryAttacks::reviveWhileTheServiceIsStopped,
                                "env-devices",
                                "non-env-processes")
                        .withPreparation(HistoryAttacks::addDatabase),
                Attack.delayedByGrace(
                        "does the same while a service without a database file is stopped",
                        HistoryAttacks::reviveWhileTheServiceIsStopped,
                        "env-devices",
                        "non-env-processes"),
                Attack.withoutEffect(
                                "removes the shell of the victim's job, whose environ is overwritten, and a service"
                                        + " with a database file is restarted",
                                HistoryAttacks::removeShellBeforeARestart,
                                "membership_unknown",
                                "non-env-processes")
                        .withPreparation(node -> {
                            addDatabase(node);
                            node.set("OVERWRITTEN_ENVIRON", "outside");
                        }),
                Attack.withoutEffect(
                        "removes the shell of the victim's job, whose environ is overwritten, and a service without a"
                                + " database file is restarted",
                        HistoryAttacks::removeShellBeforeARestart,
                        "membership_unknown",
                        "non-env-processes"),
                Attack.withoutEffect(
                                "names the victim's environment, whose id has 300 characters;"
                                        + " `GENV_ENFORCER_ENV_OWNER=enforce`",
                                twoUserNode -> {
                                    var id = "x".repeat(300);
                                    twoUserNode.writeAsAttacker(twoUserNode
                                            .validState()
                                            .env(
                                                    id,
                                                    TestUsers.HONEST_UID,
                                                    VICTIM_NAME,
                                                    null,
                                                    twoUserNode.victimShell()));
                                    twoUserNode.awaitTwoObservations();
                                    twoUserNode.useGpuAsAttacker(Map.of("GENV_ENVIRONMENT_ID", id), 2, 10);
                                },
                                "env-devices",
                                "env-owner")
                        .withSettings(Map.of("ENV_OWNER", "enforce")),
                Attack.withoutEffect(
                        "writes 5 MB of Jupyter kernels into the attacker's environments, thirty times",
                        twoUserNode -> {
                            for (var write = 0; write < LARGE_WRITES; write++) {
                                twoUserNode.writeAsAttacker(withKernels(twoUserNode, write));
                                twoUserNode.awaitTwoObservations();
                            }
                            twoUserNode.writeAsAttacker(twoUserNode.validState());
                            AttackSteps.startStray(twoUserNode);
                        },
                        "non-env-processes"));
    }

    private static void addDatabase(Node node) throws IOException {
        var folder = Files.createDirectory(node.directory.resolve("data"));
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx------"));
        node.set("DATA_DIR", folder);
    }

    /** Restarts the service, so that a job of an ended environment is reported by no rule. */
    private static void allowInactive(TwoUserNode twoUserNode) throws Exception {
        twoUserNode.closeVictimJob();
        twoUserNode.restartServiceAfter(its -> its.node.set("INACTIVE_ENV_PROCESSES", "off"));
    }

    private static void reviveWhileTheServiceIsStopped(TwoUserNode twoUserNode) throws Exception {
        allowInactive(twoUserNode);
        twoUserNode.startVictimJob(IN_NEW_ENVIRONMENT);
        twoUserNode.useGpuAsVictim(2);
        twoUserNode.awaitTwoObservations();
        twoUserNode.restartServiceAfter(its -> its.writeAsAttacker(withRevivedEnvironment(its, its.victimJob())));
        twoUserNode.useGpuAsAttacker(Map.of(), 1, 10);
    }

    private static void removeShellBeforeARestart(TwoUserNode twoUserNode) throws Exception {
        var shell = twoUserNode.restartVictimJobAs(
                TestUsers.HONEST_UID, Map.of("HOME", "/"), "setsid", "pause", "fork", "clear");
        twoUserNode.writeAsAttacker(twoUserNode
                .validState()
                .env(
                        VICTIM_ENVIRONMENT,
                        TestUsers.HONEST_UID,
                        VICTIM_NAME,
                        "1000mi",
                        twoUserNode.victimShell(),
                        shell.pid()));
        twoUserNode.awaitTwoObservations();
        twoUserNode.writeAsAttacker(twoUserNode.validState());
        twoUserNode.awaitTwoObservations();
        shell.resume();
        twoUserNode.restartServiceAfter(_ -> {});
        AttackSteps.preventAgreement(twoUserNode, TestUsers.HONEST_UID, VICTIM_ENVIRONMENT);
        twoUserNode.useGpuAsVictim(0);
        AttackSteps.startStray(twoUserNode);
    }

    private static StateFiles withRevivedEnvironment(TwoUserNode twoUserNode, int pid) {
        return twoUserNode
                .validState()
                .device(0)
                .env(UnobservedAttacks.NEW_ENVIRONMENT, TestUsers.HONEST_UID, VICTIM_NAME, null, pid);
    }

    private static void startBoth(TwoUserNode twoUserNode) throws IOException {
        twoUserNode.useGpuAsVictim(2);
        twoUserNode.useGpuAsAttacker(Map.of(), 1, 10);
    }

    private static StateFiles withForgedEnvironment(StateFiles files, TwoUserNode twoUserNode) {
        return files.env("forged", TestUsers.HONEST_UID, VICTIM_NAME, null, twoUserNode.victimShell())
                .device(2, new Attachment("forged", null, "01/01/2020 00:00:00"));
    }

    private static StateFiles withKernels(TwoUserNode twoUserNode, int write) {
        var files = twoUserNode.validState();
        IntStream.range(0, KERNELS)
                .forEach(i -> files.env(
                        "kernels-%d-%d".formatted(write, i),
                        TestUsers.ATTACKER_UID,
                        ATTACKER_NAME,
                        null,
                        List.of(twoUserNode.attackerShell()),
                        List.of("k".repeat(MEGABYTE))));
        return files;
    }
}
