package dev.genv.enforcer.e2e.attack;

import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * The driver lists the pid that opened {@code /dev/nvidiactl} as long as any process has that file open. A user who starts many processes
 * can choose when the next one gets this pid.
 */
final class ReusedPidAttack {
    private static final int FREE_DEVICE = 2;
    /** The next process gets the pid after this one, as if the attacker had started many. */
    private static final Path LAST_PID = Path.of("/proc/sys/kernel/ns_last_pid");

    private ReusedPidAttack() {}

    static Attack attack() {
        return Attack.withoutEffect(
                "has the driver list the pid of a process that has exited, until the victim's job gets that pid",
                ReusedPidAttack::leavePidToVictim,
                "pid_reused");
    }

    private static void leavePidToVictim(TwoUserNode twoUserNode) throws IOException {
        Requirements.require(Files.isWritable(LAST_PID), "a choice of pids", "add the capability CHECKPOINT_RESTORE");
        int pid;
        do { // another process of the machine may get the pid
            var process = twoUserNode.startAs(TestUsers.ATTACKER_UID, Map.of());
            pid = process.pid();
            twoUserNode.setAttackerProcess(process);
            process.close();
            twoUserNode.node.gpus.fault(
                    "case $1 in *compute*) echo '%s, %d, 10' ;; esac".formatted(FakeNvidiaSmi.uuid(FREE_DEVICE), pid));
            twoUserNode.awaitTwoObservations();
            Files.writeString(LAST_PID, Integer.toString(pid - 1));
            twoUserNode.startVictimJob(Map.of("GENV_ENVIRONMENT_ID", TwoUserNode.VICTIM_ENVIRONMENT));
        } while (twoUserNode.victimJob() != pid);
    }
}
