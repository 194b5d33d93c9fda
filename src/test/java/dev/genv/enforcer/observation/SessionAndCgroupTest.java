package dev.genv.enforcer.observation;

import static dev.genv.enforcer.observation.Relatives.ALICE;
import static dev.genv.enforcer.observation.Relatives.BOB;
import static dev.genv.enforcer.observation.Relatives.JOB;
import static dev.genv.enforcer.observation.Relatives.SHELL;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.observation.MembershipResolver.Decision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The job is an orphan, so that it has no ancestors. */
class SessionAndCgroupTest {
    private static final String SCOPE = "/user.slice/user-1003.slice/session-3.scope";

    private final Relatives machine = new Relatives().change(JOB).add(1, JOB);

    @Test
    void leaderOfTheSessionDecides() {
        assertThat(machine.decide()).isEqualTo(new Decision(new Membership.Outside(), MembershipSource.SESSION));
        assertThat(machine.change(SHELL).intact("a").add().decide()).isEqualTo(in("a", MembershipSource.SESSION));
    }

    @Test
    void memberOfTheProcessGroupDecides() {
        machine.without(SHELL)
                .process(900, 1)
                .session(SHELL)
                .group(JOB)
                .intact("a")
                .add();
        assertThat(machine.decide()).isEqualTo(in("a", MembershipSource.SESSION));
        assertUnknown(machine.change(900).group(900).add());
    }

    @Test
    void leaderAndGroupMustAgree() {
        machine.change(SHELL).intact("a").add();
        machine.process(900, 1).session(SHELL).group(JOB).intact("b").add();
        assertThat(machine.decide())
                .isEqualTo(Decision.unknown("the processes of its session name different environments"));
        assertUnknown(machine.change(SHELL).intact(null).add());
    }

    /** The one that is missing may disagree. */
    @Test
    void sessionDecidesOnlyIfNoneIsMissing() {
        machine.change(SHELL).intact("a").add();
        assertUnknown(machine.incomplete());
    }

    /** Otherwise a user with many processes could make the memberships of others unknown. */
    @Test
    void missingProcessesOfAnotherUserDoNotMatter() {
        machine.change(SHELL).intact("a").add();
        assertThat(machine.incomplete(BOB).decide()).isEqualTo(in("a", MembershipSource.SESSION));
        assertUnknown(machine.incomplete(ALICE));
    }

    @Test
    void processThatCannotBeReadMayDisagree() {
        machine.change(SHELL).intact("a").add();
        assertUnknown(
                machine.process(900, 1).session(SHELL).group(JOB).unavailable().add());
    }

    /** Their sessions may differ: they began outside the PID namespace of the service. */
    @Test
    void processesWithoutASessionHaveNothingInCommon() {
        machine.change(SHELL).session(0).intact("a").add();
        assertUnknown(machine.change(JOB).session(0).group(SHELL).add());
    }

    @Test
    void processesOfOtherUsersDoNotCount() {
        machine.change(SHELL).uid(BOB).intact("a").add();
        assertUnknown(machine);
    }

    /** The pid of a leader that has exited may belong to another process. */
    @Test
    void processThatOnlyHasThePidOfTheLeaderDoesNotCount() {
        machine.change(SHELL).session(50).intact("a").add();
        assertUnknown(machine);
    }

    @Test
    void listedLeaderDoesNotShowThatThereIsNone() {
        assertUnknown(machine.environment("b", BOB, SHELL));
    }

    @Test
    void processesOfTheScopeDecideIfAllAgree() {
        inScope();
        assertThat(machine.decide()).isEqualTo(in("a", MembershipSource.CGROUP));
        machine.process(902, 1).cgroup(SCOPE).intact("b").add();
        assertThat(machine.decide())
                .isEqualTo(Decision.unknown("the processes of its cgroup name different environments"));
        assertUnknown(machine.change(902).intact(null).add());
        assertThat(machine.change(902).uid(BOB).add().decide()).isEqualTo(in("a", MembershipSource.CGROUP));
    }

    @Test
    void allOfTheScopeAgreeOnlyIfNoneIsMissing() {
        inScope();
        assertUnknown(machine.incomplete());
    }

    @Test
    void scopeWithoutAnyEnvironmentShowsThatThereIsNone() {
        inScope();
        machine.change(901).intact(null).add();
        assertThat(machine.decide()).isEqualTo(new Decision(new Membership.Outside(), MembershipSource.CGROUP));
        assertUnknown(machine.environment("a", ALICE, 4711));
    }

    /** It is the root cgroup, the manager of all services of a user, or a folder for others. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "/",
                "/init.scope",
                "/user.slice",
                "/user.slice/user-1003.slice/user@1003.service",
                "/a",
                "/user.slice/user-1003.slice/user@1003.service/init.scope"
            })
    void cgroupThatIsNoUnitSaysNothing(String path) {
        inScope();
        machine.change(JOB).cgroup(path).add();
        assertUnknown(machine.change(901).cgroup(path).add());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/system.slice/ray.service",
                "/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                "/../cri-containerd-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope",
                "/machine.slice/libpod-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope/container"
            })
    void cgroupThatIsAUnitOrContainerDecides(String path) {
        inScope();
        machine.change(JOB).cgroup(path).add();
        assertThat(machine.change(901).cgroup(path).add().decide()).isEqualTo(in("a", MembershipSource.CGROUP));
    }

    @Test
    void sessionDecidesBeforeTheCgroup() {
        inScope();
        machine.process(903, 1).session(JOB).group(JOB).intact("s").add();
        assertThat(machine.decide()).isEqualTo(in("s", MembershipSource.SESSION));
    }

    /** A job that leads a session of its own, and a process of environment a in the same scope. */
    private void inScope() {
        machine.without(SHELL).change(JOB).session(JOB).cgroup(SCOPE).add();
        machine.process(901, 1).cgroup(SCOPE).intact("a").add();
    }

    private static Decision in(String eid, MembershipSource by) {
        return new Decision(new Membership.InEnvironment(eid), by);
    }

    private static void assertUnknown(Relatives machine) {
        assertThat(machine.decide().membership()).isInstanceOf(Membership.Unknown.class);
    }
}
