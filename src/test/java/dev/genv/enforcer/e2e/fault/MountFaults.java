package dev.genv.enforcer.e2e.fault;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.HangingMount;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;

/** File systems that never answer are mounted over the state directory. The service has its own mount namespace. */
final class MountFaults {
    private static final long ROOT = 0;

    private MountFaults() {}

    static List<Fault> all() {
        return List.of(
                mounted(
                        "a user mounts a FUSE file system over the state directory",
                        node -> node.state,
                        TestUsers.ATTACKER_UID,
                        "state_user_mount"),
                mounted(
                        "a user mounts a FUSE file system over `envs.json`",
                        node -> node.file("envs.json"),
                        TestUsers.ATTACKER_UID,
                        "state_user_mount"),
                mounted(
                        "root mounts a file system over the state directory that does not answer",
                        node -> node.state,
                        ROOT,
                        "state_timeout"));
    }

    static void prepare(Node node) throws IOException {
        var obstacle = HangingMount.reasonUnavailable();
        Requirements.require(obstacle.isEmpty(), "FUSE mounts", obstacle.orElse(""));
        node.launchWith("unshare", "-m");
    }

    private static Fault mounted(String what, Function<FaultyNode, Path> point, long uid, String code) {
        return Fault.preventingTermination(
                what,
                node -> node.setHelper(HangingMount.mount(
                        point.apply(node), node.service().process().pid(), uid)),
                FaultyNode::stopHelper,
                code,
                "membership_unknown");
    }
}
