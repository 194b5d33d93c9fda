package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
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
                "non-env-processes",
                "pid_reused");
    }

    private static void leavePidToVictim(TwoUserNode twoUserNode) throws IOException {
        Requirements.require(Files.isWritable(LAST_PID), "a choice of pids", "add the capability CHECKPOINT_RESTORE");
        int pid;
        do { // another process of the machine may get the pid
            var process = twoUserNode.startAs(TestUsers.ATTACKER_UID, Map.of());
            pid = process.pid();
            twoUserNode.useGpuAsAttacker(process, FREE_DEVICE, 10);
            await().atMost(HANG).until(() -> !process.isAlive());
            twoUserNode.awaitTwoObservations();
            Files.writeString(LAST_PID, Integer.toString(pid - 1));
            twoUserNode.startVictimJob(Map.of("GENV_ENVIRONMENT_ID", TwoUserNode.VICTIM_ENVIRONMENT));
        } while (twoUserNode.victimJob() != pid);
    }
}
