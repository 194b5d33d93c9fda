package dev.genv.enforcer.e2e.attack;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;

/** Steps that several attacks consist of. */
final class AttackSteps {
    private AttackSteps() {}

    /** The attacker changes the state, and starts a process outside of all environments. */
    static Attack.Step writeStateAndStartStray(Change change) {
        return twoUserNode -> {
            twoUserNode.writeAsAttacker(change.apply(twoUserNode, twoUserNode.validState()));
            startStray(twoUserNode);
        };
    }

    /** The attacker starts a process outside of all environments on the device that no environment holds. */
    static void startStray(TwoUserNode twoUserNode) throws IOException {
        twoUserNode.useGpuAsAttacker(Map.of(), 2, 10);
    }

    /**
     * Starts processes of a user that are in an environment and outside of all. Without them, all processes of the user may agree on a
     * machine where the tests are in one systemd unit.
     */
    static void preventAgreement(TwoUserNode twoUserNode, int uid, String environment) throws IOException {
        twoUserNode.startAs(uid, Map.of());
        twoUserNode.startAs(uid, Map.of("GENV_ENVIRONMENT_ID", environment));
    }

    /** Writes state files that every user can write, as genv does. */
    static void write(Node node, StateFiles files) throws IOException {
        files.write();
        Files.setPosixFilePermissions(node.stateDirectory, PosixFilePermissions.fromString("rwxrwxrwx"));
        for (var name : List.of("envs.json", "devices.json")) {
            Files.setPosixFilePermissions(
                    node.stateDirectory.resolve(name), PosixFilePermissions.fromString("rw-rw-rw-"));
        }
    }

    /** What the attacker makes of the valid state. */
    interface Change {
        StateFiles apply(TwoUserNode twoUserNode, StateFiles files);
    }
}
