package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_NAME;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;

/** The attacker's process hides its program or its environment. */
final class DisguiseAttacks {
    private static final Map<String, String> IN_ATTACKER_ENVIRONMENT =
            Map.of("GENV_ENVIRONMENT_ID", ATTACKER_ENVIRONMENT);

    private DisguiseAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.withoutEffect(
                        "runs a program with the name `nvidia-cuda-mps-server`",
                        twoUserNode -> twoUserNode.useGpuAsAttacker(
                                twoUserNode.startAsAttacker(
                                        "cp /usr/bin/sleep nvidia-cuda-mps-server && exec ./nvidia-cuda-mps-server 600",
                                        Map.of(),
                                        "nvidia-cuda-mps"),
                                2,
                                10),
                        "non-env-processes"),
                Attack.withoutEffect(
                                "runs the attacker's own program, mounted over a protected one",
                                twoUserNode -> {
                                    var own = copyOfSleep(twoUserNode.node, "own");
                                    Files.setAttribute(own, "unix:uid", TestUsers.ATTACKER_UID);
                                    twoUserNode.useGpuAsAttacker(
                                            startUnderMount(
                                                    twoUserNode,
                                                    own,
                                                    protectedProgram(twoUserNode.node),
                                                    TestUsers.ATTACKER_UID),
                                            2,
                                            10);
                                },
                                "non-env-processes")
                        .withPreparation(DisguiseAttacks::protectProgram),
                Attack.withoutEffect(
                                "breaks a rule beside a protected program of the victim, which is mounted under another name and was replaced",
                                twoUserNode -> {
                                    var server = protectedProgram(twoUserNode.node);
                                    twoUserNode.restartVictimJobAs(startUnderMount(
                                            twoUserNode,
                                            server,
                                            copyOfSleep(twoUserNode.node, "other"),
                                            TestUsers.HONEST_UID));
                                    Files.move(
                                            copyOfSleep(twoUserNode.node, "new"),
                                            server,
                                            StandardCopyOption.ATOMIC_MOVE);
                                    twoUserNode.useGpuAsVictim(0);
                                    AttackSteps.startStray(twoUserNode);
                                },
                                "non-env-processes")
                        .withPreparation(DisguiseAttacks::protectProgram),
                Attack.preventingTermination(
                        "overwrites the environment variables of the attacker's process",
                        twoUserNode -> twoUserNode.useGpuAsAttacker(startWithOverwrittenEnviron(twoUserNode), 2, 10),
                        "membership_unknown"),
                Attack.preventingTermination(
                        "does the same, and lists its pid in the attacker's environment",
                        twoUserNode -> {
                            var process = startWithOverwrittenEnviron(twoUserNode);
                            twoUserNode.writeAsAttacker(twoUserNode
                                    .validState()
                                    .env(
                                            ATTACKER_ENVIRONMENT,
                                            TestUsers.ATTACKER_UID,
                                            ATTACKER_NAME,
                                            null,
                                            twoUserNode.attackerShell(),
                                            process.pid()));
                            twoUserNode.useGpuAsAttacker(process, 2, 10);
                        },
                        "membership_unknown"),
                Attack.withoutEffect(
                        "sets an id that cannot be decoded",
                        twoUserNode -> twoUserNode.useGpuAsAttacker(
                                twoUserNode.startAsAttacker(
                                        "GENV_ENVIRONMENT_ID=$(printf '\\377\\376') exec sleep 600", Map.of(), "sleep"),
                                2,
                                10),
                        "inactive-env-processes"));
    }

    private static void protectProgram(Node node) throws IOException {
        node.set("PROTECTED_EXECUTABLES", copyOfSleep(node, "server") + "@*");
    }

    private static Path protectedProgram(Node node) {
        return node.directory.resolve("server");
    }

    private static Path copyOfSleep(Node node, String name) throws IOException {
        return Files.copy(Path.of("/usr/bin/sleep"), node.directory.resolve(name), StandardCopyOption.COPY_ATTRIBUTES);
    }

    /** Starts a program under the name of another one. Root makes the mount here; every user can in a user namespace. */
    private static Child startUnderMount(TwoUserNode twoUserNode, Path program, Path name, int uid) throws IOException {
        var script = "mount --bind %1$s %2$s && exec setpriv --reuid=%3$d --regid=%3$d --clear-groups %2$s 600"
                .formatted(program, name, uid);
        return twoUserNode.startAsRoot(
                List.of("unshare", "--mount", "sh", "-c", script),
                Map.of("PATH", "/usr/bin:/bin"),
                name.getFileName().toString());
    }

    private static Child startWithOverwrittenEnviron(TwoUserNode twoUserNode) throws IOException {
        AttackSteps.preventAgreement(twoUserNode, TestUsers.ATTACKER_UID, ATTACKER_ENVIRONMENT);
        return twoUserNode.startAsAttacker(
                "exec setsid perl -e '$0 = \"x\" x 5000; sleep 600'", IN_ATTACKER_ENVIRONMENT, "xxxxxxxxxxxxxxx");
    }
}
