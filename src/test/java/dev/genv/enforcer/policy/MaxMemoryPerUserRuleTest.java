package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Container;
import dev.genv.enforcer.model.GpuProcess.Workload.WorkloadSource;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Rule.ExpectedExits;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MaxMemoryPerUserRuleTest {
    private static final long ALICE = 1001;
    private static final long BOB = 1002;
    private final Limits limits = new Limits(1000, Map.of("1007", 5000));

    @Test
    void terminatesTheSmallestProcessThatFreesEnoughOnAllHostsTogether() {
        var plan = check(
                host("a").with(of(1, "600mi"), of(2, "300mi")),
                host("b").with(of(1, "200mi"), of(2, "100mi"), of(3, "50mi")));

        assertThat(terminated(plan)).containsExactly("a 2");
        assertThat(plan.violations())
                .singleElement()
                .satisfies(
                        violation -> assertThat(violation.message())
                                .isEqualTo(
                                        "User alice is using 1310m of GPU memory on 2 hosts which is 262m more than the maximum allowed"))
                .satisfies(violation -> assertThat(violation.key().host()).isEqualTo("a"))
                .satisfies(violation -> assertThat(violation.subject()).isEqualTo("user alice"));
    }

    @Test
    void reportsEachHostWithAProcessToTerminate() {
        var plan = check(
                host("a").with(of(1, "1100mi")),
                host("b").with(of(1, "1200mi")),
                host("c").with(of(1, "10mi")));

        assertThat(terminated(plan)).containsExactly("a 1", "b 1");
        assertThat(plan.violations()).extracting(Violation::host).containsExactly("a", "b");
    }

    @Test
    void acceptsAsMuchAsIsAllowed() {
        assertThat(check(host("a").with(of(1, "1000mi"))).violations()).isEmpty();
        assertThat(check(host("a").with(of(1, "5000mi").uid(1007))).violations())
                .isEmpty();
        assertThat(check(host("a").with(of(1, "5001mi").uid(1007))).violations())
                .hasSize(1);
    }

    /** The environment is a claim. A process in another user's environment counts for its own user. */
    @Test
    void countsAProcessForItsRealUidWhateverEnvironmentItNames() {
        var hosts = host("a")
                .with("env e on 0 uid 1001")
                .with(
                        of(1, "900mi").inEnvironment("e"),
                        of(2, "1100mi").inEnvironment("e").uid(BOB));

        assertThat(terminated(check(hosts))).containsExactly("a 2");
    }

    @Test
    void countsSubordinateUidsForTheirAccount() {
        var hosts = host("a")
                .subordinate(ALICE, 100_000, 65_536)
                .with(of(1, "600mi"), of(2, "500mi").uid(100_005));

        assertThat(terminated(check(hosts))).containsExactly("a 2");
    }

    /** A uid in a container of root can be anybody's number, so no user is terminated for it. */
    @Test
    void countsNeitherRootNorContainersOfRootNorUnknownUids() {
        var container = new Workload(null, new Container("c".repeat(64), "docker", WorkloadSource.CGROUP), null, null);
        var hosts = host("a")
                .with(
                        of(1, "600mi"),
                        of(2, "5000mi").uid(0),
                        of(3, "5000mi").workload(container),
                        of(4, "5000mi").uidUnknown());

        assertThat(check(hosts).violations()).isEmpty();
    }

    @Test
    void keepsImmuneProcesses() {
        var plan = check(host("a").with(of(1, "1100mi").immune(Immunity.Kind.PROTECTED, "it runs /x"), of(2, "10mi")));

        assertThat(terminated(plan)).containsExactly("a 2");
        assertThat(check(host("a").with(of(1, "1100mi").immune(Immunity.Kind.EXEMPT, "exempt")))
                        .violations())
                .hasSize(1);
    }

    @Test
    void treatsSignalledProcessesAsGoneUntilTheyAreOverdue() {
        var hosts = host("a").with(of(1, "600mi"), of(2, "500mi"));
        var first = Set.of(GpuProcessBuilder.id("a", 1));

        assertThat(terminated(check(new ExpectedExits(first, Set.of(), Set.of()), hosts)))
                .isEmpty();
        assertThat(terminated(check(new ExpectedExits(first, first, Set.of()), hosts)))
                .containsExactly("a 1");
    }

    @Test
    void doesNotCountWhatIsUnknownAndSaysSo() {
        var plan = check(host("a").with(of(1, "900mi").usesUnknown(1)));

        assertThat(plan.violations()).isEmpty();
        assertThat(plan.problems())
                .singleElement()
                .satisfies(problem -> assertThat(problem.problem().detail())
                        .isEqualTo("The driver does not report how much memory process 1 of user alice uses"));
    }

    @Test
    void doesNotCountAHostWithoutItsProcesses() {
        assertThat(check(host("a").with(of(1, "1100mi")).missing(SnapshotPart.PROCESSES))
                        .violations())
                .isEmpty();
    }

    private static GpuProcessBuilder of(int pid, String memory) {
        return process(pid).uid(ALICE).uses(0, memory);
    }

    private Plan check(HostBuilder... hosts) {
        return check(new ExpectedExits(Set.of(), Set.of(), Set.of()), hosts);
    }

    private Plan check(ExpectedExits expected, HostBuilder... hosts) {
        var snapshots = Arrays.stream(hosts)
                .map(host -> withAccounts(host.devices(2).snapshot()))
                .toList();
        return new Policy(Map.of(Rules.MAX_MEMORY_PER_USER, new RuleConfig(RuleMode.ENFORCE, limits)))
                .check(new Fleet(snapshots, true), expected);
    }

    private static Snapshot withAccounts(Snapshot snapshot) {
        var accounts = new Accounts(Map.of("alice", ALICE, "bob", BOB));
        return snapshot.with(new HostDetails(
                true, null, Duration.ZERO, null, 0, Set.of(), List.of(), null, null, null, accounts, null, List.of()));
    }

    private static List<String> terminated(Plan plan) {
        return plan.terminations().keySet().stream()
                .sorted()
                .map(MaxMemoryPerUserRuleTest::text)
                .toList();
    }

    private static String text(HostProcess process) {
        return process.host() + " " + process.id().pid();
    }
}
