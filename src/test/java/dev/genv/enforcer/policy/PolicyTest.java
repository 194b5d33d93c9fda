package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.KnownRules.ENV_DEVICES;
import static dev.genv.enforcer.testsupport.KnownRules.ENV_MEMORY;
import static dev.genv.enforcer.testsupport.KnownRules.MAX_DEVICES_PER_USER;
import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static dev.genv.enforcer.testsupport.builder.Plans.enforcingPolicy;
import static dev.genv.enforcer.testsupport.builder.Plans.lines;
import static dev.genv.enforcer.testsupport.builder.Plans.terminatedPids;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Device.HostDevice;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.Fleet.Idleness;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Container;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PolicyTest {
    private static final Limits NO_DEVICES = new Limits(0, Map.of());

    @Test
    void appliesRulesInOrder() {
        var plan = enforcingPolicy(NO_DEVICES, KnownRules.all()).check(fleetThatBreaksEveryRule(), Set.of());
        assertThat(lines(plan))
                .containsExactly(
                        "[gpu-1] Process 1 is not running in a GPU environment",
                        "[gpu-2] Process 1 is not running in a GPU environment",
                        "[gpu-1] Process 2 names environment gone, which is not active",
                        "[gpu-1] Process 3 from environment a is using non-attached GPU(s) 1",
                        "User raz is using 1 devices on 1 hosts which is 1 more than the maximum allowed",
                        "[gpu-1] Environment a is using 1153m on device 0 which is 104m over its capacity of 1000mi",
                        "Terminating process 1 from environment N/A that is running on GPU(s) 0",
                        "Terminating process 2 from environment gone that is running on GPU(s) 0",
                        "Terminating process 3 from environment a that is running on GPU(s) 1",
                        "Terminating process 4 from environment a that is running on GPU(s) 0",
                        "Terminating process 1 from environment N/A that is running on GPU(s) 1",
                        "Detaching environment a of user raz from device 0");
    }

    @Test
    void violationNamesSubjectUserEnvironmentDevicesAndProcesses() {
        var node = host().devices(2)
                .with("env a capacity 1000mi live 1000 on 0")
                .with("process 1 account raz on 0", "process 2 in gone on 0")
                .with("process 3 in a on 0=1100mi,1", "process 4 in a uid 1007 on 0");
        var plan = enforcingPolicy(NO_DEVICES, KnownRules.all()).check(node.fleet(), Set.of());
        assertThat(plan.violations())
                .extracting(violation -> "%s: %s, %s, %s, %s, %s"
                        .formatted(
                                violation.host(),
                                violation.subject(),
                                violation.user(),
                                violation.environment(),
                                violation.devices(),
                                violation.processes().stream()
                                        .map(GpuProcess::pid)
                                        .toList()))
                .containsExactly(
                        "here: process 1 991232, raz, null, [0], [1]",
                        "here: process 2 991232, null, gone, [0], [2]",
                        "here: process 3 991232, raz, a, [1], [3]",
                        "here: user raz, raz, null, [0], [3, 4]",
                        "here: environment a device 0 uid 1000, raz, a, [0], [3]",
                        "here: process 4 991232, raz, a, [0], [4]");
        assertThat(lines(plan)).contains("Process 4 of uid 1007 names environment a of uid 1000");
    }

    /** The clock of a violation, and with it the grace period, has this key. */
    @Test
    void quotaKeepsItsKeyWhenAnotherHostIsAdded() {
        var one = host("gpu-1").devices(1).with("env a on 0");
        var two = host("gpu-2").devices(1).with("env a on 0");
        var policy = enforcingPolicy(NO_DEVICES, MAX_DEVICES_PER_USER);
        var alone = policy.check(remote(one), Set.of()).violations().getFirst();
        var joined = policy.check(remote(one, two), Set.of()).violations().getFirst();
        assertThat(joined.key()).isEqualTo(alone.key());
        assertThat(joined.host()).isNull();
        assertThat(joined.message())
                .isEqualTo("User raz is using 2 devices on 2 hosts which is 2 more than the maximum allowed");
    }

    @Test
    void severalViolationsGiveOneActionWithAllCauses() {
        var fleet = host().devices(3)
                .with("env a capacity 1000mi on 0,1", "process 1 in a on 0=1100mi,1=1200mi,2")
                .fleet();
        var plan = enforcingPolicy(NO_DEVICES, KnownRules.all()).check(fleet, Set.of());
        assertThat(plan.violations()).hasSize(4);
        assertThat(terminatedPids(plan)).containsExactly(1);
        assertThat(plan.actions().getFirst().causes()).isEqualTo(plan.violations());
        assertThat(plan.actions().getFirst().rules()).containsExactly(ENV_DEVICES, MAX_DEVICES_PER_USER, ENV_MEMORY);
        assertThat(plan.actions())
                .filteredOn(action -> action.action() instanceof Action.Detach)
                .hasSize(2);
    }

    /** A uid in a container of root can be anybody's number, so no user is terminated for it. */
    @Test
    void memoryCountsForTheAccountOfTheUidOutsideContainersOfRoot() {
        var container = new Workload(null, new Container("c".repeat(64)), null, null);
        var hosts = Stream.of("a", "b")
                .map(name -> host(name)
                        .devices(1)
                        .with(
                                process(1).uid(1001).uses(0, "625mi"),
                                process(2).uid(1001).uses(0, "5000mi").workload(container)))
                .map(host ->
                        new FakeHost(host).setAccounts(Map.of("alice", 1001L)).observe())
                .toList();
        var plan = KnownRules.policy(
                        Map.of(Rules.MAX_MEMORY_PER_USER, RuleMode.ENFORCE), Limits.NONE, new Limits(1000, Map.of()))
                .check(new Fleet(hosts, true), Set.of());
        assertThat(plan.violations()).singleElement().satisfies(violation -> {
            assertThat(violation.message())
                    .isEqualTo("User alice is using 1310m of GPU memory on 2 hosts which is 262m more than the maximum"
                            + " allowed");
            assertThat(violation.key().host()).isEqualTo("a");
            assertThat(violation.subject()).isEqualTo("user alice");
        });
    }

    /** Or perhaps does: then nothing that rests on it is done. */
    @ParameterizedTest
    @CsvSource({"true, 2 3", "false, 1 2 3"})
    void whatAnotherAllocatorRunsBreaksNoRuleAndCountsForNobody(boolean isCertain, String outside) {
        var immunity = new Immunity(Immunity.Kind.EXEMPT_CGROUP, "its cgroup", isCertain);
        var host = host("a")
                .devices(2)
                .with(env("a").uid(1001).attached(0))
                .with(
                        process(1).uid(1001).uses(0, "5000mi").immune(immunity),
                        process(2).uid(1001).uses(0, "600mi"),
                        process(3).uid(1002).uses(1, "1500mi"),
                        process(4).uid(1001).inEnvironment("a").uses(1, "1mi").immune(immunity))
                .snapshot();
        var plan = planForMemoryStraysAnd(KnownRules.ENV_DEVICES, host);
        assertThat(plan.violations().stream()
                        .filter(violation -> violation.rule().equals(KnownRules.NON_ENV_PROCESSES))
                        .map(violation ->
                                String.valueOf(violation.processes().getFirst().pid())))
                .containsExactly(outside.split(" "));
        assertThat(plan.violations().stream()
                        .filter(violation -> violation.rule().equals(KnownRules.ENV_DEVICES)))
                .hasSize(isCertain ? 0 : 1);
        assertThat(plan.violations().stream()
                        .filter(violation -> violation.rule().equals(Rules.MAX_MEMORY_PER_USER))
                        .map(Violation::subject))
                .containsExactly("user +1002");
    }

    /** With 1,000 MiB for each user. */
    private static Plan planForMemoryStraysAnd(RuleDefinition another, Snapshot host) {
        var modes = Stream.of(Rules.MAX_MEMORY_PER_USER, KnownRules.NON_ENV_PROCESSES, another)
                .collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE));
        return KnownRules.policy(modes, Limits.NONE, new Limits(1000, Map.of()))
                .check(new Fleet(List.of(host), false), Set.of());
    }

    /** Its user is warned, and its memory counts for nobody until the exemption is over. */
    @Test
    void whatAnotherAllocatorRanUntilThePolicyChangedBreaksRulesAndCountsForNobody() {
        var immunity = new Immunity(Immunity.Kind.EXEMPT_CGROUP_BEFORE, "its cgroup");
        var host = host("a")
                .devices(1)
                .with(env("a").uid(1001).capacity("1000mi").attached(0))
                .with(
                        process(1).uid(1001).uses(0, "5000mi").immune(immunity),
                        process(2).uid(1001).inEnvironment("a").uses(0, "900mi").immune(immunity),
                        process(3).uid(1001).inEnvironment("a").uses(0, "600mi"))
                .snapshot();
        var plan = planForMemoryStraysAnd(KnownRules.ENV_MEMORY, host);
        assertThat(plan.violations()).singleElement().satisfies(violation -> {
            assertThat(violation.rule()).isEqualTo(KnownRules.NON_ENV_PROCESSES);
            assertThat(violation.processes().getFirst().pid()).isEqualTo(1);
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatAnotherAllocatorRunsFillsNoEnvironment(boolean isCertain) {
        var immunity = new Immunity(Immunity.Kind.EXEMPT_CGROUP, "its cgroup", isCertain);
        var host = host("a")
                .devices(1)
                .with(env("a").uid(1001).capacity("1000mi").attached(0))
                .with(
                        process(1).uid(1001).inEnvironment("a").uses(0, "900mi").immune(immunity),
                        process(2).uid(1001).inEnvironment("a").uses(0, "600mi"))
                .snapshot();
        var plan = KnownRules.policy(Map.of(KnownRules.ENV_MEMORY, RuleMode.ENFORCE), Limits.NONE, Limits.NONE)
                .check(new Fleet(List.of(host), false), Set.of());
        assertThat(plan.violations()).isEmpty();
    }

    /** Otherwise it would count as compliant where it still runs, and never get SIGKILL. */
    @Test
    void memoryOfAUserIsReportedWhereAProcessIsLeaving() {
        var hosts = List.of(
                host("a").with("process 1 uid 1001 on 0=900mi").snapshot(),
                host("b").with("process 2 uid 1001 on 0=200mi").snapshot());
        var plan = KnownRules.policy(
                        Map.of(Rules.MAX_MEMORY_PER_USER, RuleMode.ENFORCE), Limits.NONE, new Limits(1000, Map.of()))
                .check(new Fleet(hosts, true), Set.of(id("b", 2)));
        assertThat(plan.violations()).singleElement().satisfies(violation -> {
            assertThat(violation.host()).isEqualTo("b");
            assertThat(violation.processes()).extracting(GpuProcess::pid).containsExactly(2);
        });
        assertThat(plan.actions()).isEmpty();
    }

    /** A uid without an account is nobody whose name is the same number. */
    @Test
    void memoryOfAUidIsNotAddedToThatOfAnAccountWithTheSameNumber() {
        var node = host("a")
                .devices(1)
                .accounts(new Accounts(Map.of("70011", 5000L)))
                .with(
                        "process 1 uid 5000 on 0=600mi",
                        "process 2 uid 70011 on 0=700mi",
                        "process 3 uid 70011 on 0=500mi");
        var plan = KnownRules.policy(
                        Map.of(Rules.MAX_MEMORY_PER_USER, RuleMode.ENFORCE),
                        Limits.NONE,
                        new Limits(1000, Map.of("70011", 1300)))
                .check(node.fleet(), Set.of());
        assertThat(plan.violations()).singleElement().satisfies(violation -> {
            assertThat(violation.message()).startsWith("User 70011 is using 1258m of GPU memory which is 209m more");
            assertThat(violation.subject()).isEqualTo("user +70011");
            assertThat(violation.countedUser()).isEqualTo("70011");
            assertThat(violation.processes()).extracting(GpuProcess::pid).containsExactlyInAnyOrder(2, 3);
        });
    }

    /** If a device was quiet in every sample, every process on it was: neither another process nor unexplained memory there matters. */
    @Test
    void idleProcessIsTerminatedWhateverElseIsOnItsDevice() {
        var idle = Duration.ofHours(5);
        var idleness = new Idleness(
                Map.of(),
                Map.of(new HostDevice("here", 0), idle, new HostDevice("here", 1), Duration.ofHours(1)),
                Map.of(),
                Map.of(
                        id("here", 1),
                        idle,
                        id("here", 2),
                        Duration.ofHours(1),
                        id("here", 3),
                        idle,
                        id("here", 5),
                        IdleLimits.DEFAULT.after(),
                        id("here", 6),
                        idle,
                        id("here", 7),
                        idle));
        var node = host().devices(1).with("env a on 0", "process 1 in a on 0=1g");
        var policy = enforcingPolicy(Limits.NONE, KnownRules.IDLE_PROCESSES);
        assertThat(terminatedPids(policy.check(node.fleet().with(idleness), Set.of())))
                .containsExactly(1);

        var plan = policy.check(
                node.devices(2)
                        .with(
                                "env b on 0",
                                "process 2 in b on 0=1mi",
                                "process 3 in b on 0=1mi,1=1mi",
                                "process 4 on 0=1mi",
                                "process 5 in b on 0=1",
                                "process 6 in b on 0=0",
                                "process 7 in b on 0=?")
                        .fleet()
                        .with(idleness),
                Set.of());
        assertThat(terminatedPids(plan))
                .as(
                        "2 was started an hour ago, 3 is also on a device that was in use, 4 is in no environment, 5 was idle for exactly the"
                                + " time, and 6 and 7 hold no memory, as far as it is known")
                .containsExactly(1, 5);
        assertThat(plan.problems()).isEmpty();
    }

    @Test
    void detachesOnlyTheEnvironmentThatHasNotUsedASharedDevice() {
        var idleness = new Idleness(
                Map.of(), Map.of(), Map.of(new Appearances.Key("here", "a", 0), Duration.ofHours(5)), Map.of());
        var node = host().devices(1).with("env a on 0", "env b on 0");
        var plan = enforcingPolicy(Limits.NONE, KnownRules.IDLE_DEVICES)
                .check(node.fleet().with(idleness), Set.of());
        assertThat(plan.actions())
                .extracting(PlannedAction::action)
                .singleElement()
                .isInstanceOfSatisfying(
                        Action.Detach.class,
                        detach -> assertThat(detach.attachment().eid()).isEqualTo("a"));
    }

    /** As for a plan request, in which all grace periods are over. */
    @Test
    void immuneProcessThatAnotherRuleSelectsFreesNoMemory() {
        var node = host().devices(2)
                .with(
                        "env a capacity 1000mi on 0",
                        "process 1 in a on 0=600mi",
                        "process 2 in a on 0=500mi,1=1mi immune");
        var plan = enforcingPolicy(Limits.NONE, KnownRules.ENV_DEVICES, KnownRules.ENV_MEMORY)
                .check(node.fleet(), Set.of());
        assertThat(terminatedPids(plan)).containsExactly(1, 2);
    }

    @Test
    void reportsAHeldDeviceOfWhichItIsUnknownWhetherItIsUsed() {
        var policy = enforcingPolicy(Limits.NONE, KnownRules.IDLE_DEVICES);
        var node =
                host().devices(3).with("env a on 0,1", "process 1 in a on 1=?").memoryUnknown(0, 1, 2);
        assertThat(policy.check(node.fleet(), Set.of()).problems())
                .singleElement()
                .satisfies(problem -> assertThat(problem.problem())
                        .isEqualTo(new Problem(
                                ProblemCode.MEMORY_UNKNOWN,
                                "Device 0 has no listed process, and the driver does not report its used memory, so it is"
                                        + " unknown whether it is used")));
    }

    /** A user can write thousands of them into the state. Strangers that are never terminated must not displace proven ones. */
    @Test
    void listsALimitedNumberOfDisputesAndOfUnprovenStrangers() {
        var disputed = IntStream.rangeClosed(1, EnvOwnerRule.MAX_FINDINGS + 5)
                .mapToObj(number -> env("d%04d".formatted(number)).disputed("so"))
                .toArray(EnvBuilder[]::new);
        var strangers = IntStream.rangeClosed(1, EnvOwnerRule.MAX_FINDINGS + 1)
                .mapToObj(pid -> process(pid).inEnvironment("own").uid(1007).uses(0))
                .toArray(GpuProcessBuilder[]::new);
        var plan = enforcingPolicy(Limits.NONE, KnownRules.ENV_OWNER)
                .check(
                        remote(host("gpu-1")
                                .devices(1)
                                .with(disputed)
                                .with("env own on 0", "env proven live 1000")
                                .with(strangers)
                                .with("process 7000 in proven uid 1007 on 0")),
                        Set.of());

        assertThat(terminatedPids(plan)).containsExactly(7000);
        assertThat(plan.violations())
                .filteredOn(violation -> violation.processes().isEmpty())
                .hasSize(EnvOwnerRule.MAX_FINDINGS)
                .extracting(Violation::message)
                .contains("[gpu-1] Environment d0001 is disputed: so", "[gpu-1] Environment d0100 is disputed: so");
        assertThat(plan.violations())
                .filteredOn(violation -> !violation.processes().isEmpty())
                .hasSize(EnvOwnerRule.MAX_FINDINGS + 1);
        assertThat(plan.problems()).singleElement().satisfies(of -> {
            assertThat(of.host()).isEqualTo("gpu-1");
            assertThat(of.problem().code()).isEqualTo(ProblemCode.MORE_DISPUTES);
            assertThat(of.problem().detail()).startsWith("105 environments are disputed and 102 processes");
        });
    }

    private static Fleet fleetThatBreaksEveryRule() {
        return remote(
                host("gpu-2").devices(2).with("process 1 on 1"),
                host("gpu-1")
                        .devices(2)
                        .with(
                                "env a capacity 1000mi on 0",
                                "process 1 on 0",
                                "process 2 in gone on 0",
                                "process 3 in a on 1",
                                "process 4 in a on 0=1100mi"));
    }
}
