package dev.genv.enforcer.remote.genv;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.observation.Observation;
import java.util.Set;
import org.junit.jupiter.api.Test;

class GenvMembershipTest extends GenvMachineSuite {
    /** genv also prints null if it lacks the permission to read it, and non-env-processes would terminate every process. */
    @Test
    void processWithUnreadableEnvironmentHasUnknownMembership() throws Exception {
        connection.thenExit(0, SNAPSHOT, "[WARNING] Not enough permissions to query environment of process 63600\n");
        assertThat(membershipOf(63600, host.observe(Set.of()))).isInstanceOf(Membership.Unknown.class);
        connection.thenExit(0, SNAPSHOT, "[WARNING] Not enough permissions to query environment of process 636\n");
        assertThat(membershipOf(63600, host.observe(Set.of()))).isEqualTo(new Membership.Outside());
        connection.thenExit(0, SNAPSHOT, "x".repeat(4096));
        var observation = host.observe(Set.of());
        assertThat(membershipOf(63600, observation)).isInstanceOf(Membership.Unknown.class);
        assertThat(membershipOf(15990, observation)).isEqualTo(new Membership.InEnvironment("15971"));
    }

    @Test
    void omitsProcessThatExitedBeforeGenvReadIt() throws Exception {
        connection.thenExit(0, SNAPSHOT, "[DEBUG] Process 63600 already terminated\n");
        assertThat(host.observe(Set.of()).snapshot().processes())
                .extracting(GpuProcess::pid)
                .containsExactly(15990, 67708);
    }

    @Test
    void processListedByAnEnvironmentHasUnknownMembership() throws Exception {
        var observation = observe(SNAPSHOT.replace("63600", "15971"));
        assertThat(membershipOf(15971, observation)).isInstanceOf(Membership.Unknown.class);
        assertThat(observation.snapshot().problems())
                .extracting(Problem::code)
                .contains(ProblemCode.MEMBERSHIP_UNKNOWN);
    }

    private static Membership membershipOf(int pid, Observation observation) {
        return observation.snapshot().processes().stream()
                .filter(process -> process.pid() == pid)
                .findFirst()
                .orElseThrow()
                .membership();
    }
}
