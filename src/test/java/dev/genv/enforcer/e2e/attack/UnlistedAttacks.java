package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.TestUsers.ATTACKER_UID;
import static dev.genv.enforcer.e2e.TestUsers.HONEST_UID;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_ENVIRONMENT;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.unlisted.TerminalGpu;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.MountNamespace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The attacker uses the free device without being listed. */
final class UnlistedAttacks {
    private static final int DEVICE_OF_ATTACKER = 1;
    private static final int FREE_DEVICE = 2;
    private static final String NO_ENVIRONMENT = "424242";
    private static final String[] REPORTED = {"gpu_unlisted", "unlisted-processes"};

    private UnlistedAttacks() {}

    static List<Attack> all() {
        return Stream.of(
                        Attack.withoutEffect(
                                "uses a device without being listed",
                                twoUserNode -> use(twoUserNode, Map.of()),
                                REPORTED),
                        Attack.withoutEffect(
                                "uses a device without being listed, and names an environment that does not exist",
                                twoUserNode -> use(twoUserNode, Map.of("GENV_ENVIRONMENT_ID", NO_ENVIRONMENT)),
                                REPORTED),
                        Attack.withoutEffect(
                                "uses a device without being listed, as the child of a process that is listed on the attacker's device",
                                twoUserNode ->
                                        use(twoUserNode, Map.of("GENV_ENVIRONMENT_ID", ATTACKER_ENVIRONMENT), "fork"),
                                REPORTED),
                        Attack.withoutEffect(
                                "passes the open file of the device that the attacker uses, without being listed, to the victim's job",
                                UnlistedAttacks::passToVictim,
                                REPORTED))
                .map(attack -> attack.withPreparation(UnlistedAttacks::giveDriver))
                .toList();
    }

    /** The service sees a driver of its own. */
    private static void giveDriver(Node node) throws IOException {
        var driver = Files.createDirectory(node.directory.resolve("driver"));
        Files.createDirectory(driver.resolve("driver"));
        Files.createFile(driver.resolve("devices"));
        node.set("UNLISTED_PROCESSES", "enforce")
                .launchWith(
                        "unshare",
                        "--mount",
                        "sh",
                        "-c",
                        "mount --bind %1$s/devices /proc/devices && mount --bind %1$s/driver /proc/driver && exec \"$@\""
                                .formatted(driver),
                        "sh");
    }

    private static void passToVictim(TwoUserNode twoUserNode) throws Exception {
        var address = twoUserNode.node.stateDirectory.resolve("socket");
        twoUserNode.restartVictimJobAs(
                HONEST_UID, Map.of("GENV_ENVIRONMENT_ID", VICTIM_ENVIRONMENT), "listen:" + address);
        use(twoUserNode, Map.of(), "pass:" + address);
    }

    /** The last value of the step {@code pass} is the device file. */
    private static void use(TwoUserNode twoUserNode, Map<String, String> variables, String... steps) throws Exception {
        var gpu = TerminalGpu.create(twoUserNode.node.directory.resolve("driver"), FakeNvidiaSmi.uuid(FREE_DEVICE));
        twoUserNode.add(gpu.keeper());
        // The service reads the used memory rarely as long as it is explained.
        twoUserNode.restartServiceAfter(_ -> twoUserNode.node.gpus.gpuLines("0, %s, 900\n1, %s, 0\n2, %s, 4096\n"
                .formatted(FakeNvidiaSmi.uuid(0), FakeNvidiaSmi.uuid(1), FakeNvidiaSmi.uuid(2))));
        var all = new ArrayList<String>();
        Arrays.stream(steps)
                .map(step -> step.startsWith("pass:") ? step + "," + gpu.file() : step)
                .forEach(all::add);
        all.add("hold:" + gpu.file());
        var process = twoUserNode.startSteps(ATTACKER_UID, variables, all.toArray(String[]::new));
        if (all.contains("fork")) {
            twoUserNode.node.gpus.process(DEVICE_OF_ATTACKER, process.leftBehind(0), "0");
        }
        MountNamespace.run(
                twoUserNode.service().process().pid(),
                "mount",
                "--bind",
                gpu.mapsOf(process.pid()).toString(),
                Path.of("/proc", Integer.toString(process.pid()), "maps").toString());
        twoUserNode.setAttackerProcess(process);
    }
}
