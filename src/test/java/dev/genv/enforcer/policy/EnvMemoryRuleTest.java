package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static dev.genv.enforcer.testsupport.builder.Plans.enforce;
import static dev.genv.enforcer.testsupport.builder.Plans.lines;
import static dev.genv.enforcer.testsupport.builder.Plans.terminatedPids;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Who uses too much, and what that means. Whom to end for it is another matter: {@code MemoryVictimsTest}. */
class EnvMemoryRuleTest {
    private static final String MESSAGE =
            "Environment a is using 1153m on device 0 which is 104m over its capacity of 1000mi";

    @Test
    void terminatesProcessThatExceedsTheCapacity() {
        assertThat(lines(check(hostOverCapacity().fleet())))
                .containsExactly(MESSAGE, "Terminating process 812 from environment a that is running on GPU(s) 0");
    }

    @Test
    void messageNamesHostInRemoteMode() {
        assertThat(lines(check(remote(hostOverCapacity())))).first().isEqualTo("[gpu-1] " + MESSAGE);
    }

    @Test
    void violationNamesUserEnvironmentDeviceAndProcesses() {
        assertThat(check(hostOverCapacity().fleet()).violations())
                .containsExactly(new Violation(
                        KnownRules.ENV_MEMORY,
                        "gpu-1",
                        "environment a device 0 uid 1000",
                        MESSAGE,
                        "raz",
                        "a",
                        List.of(0),
                        List.of(process(812)
                                .inEnvironment("a")
                                .uses(0, "1100mi")
                                .build())));
    }

    @ParameterizedTest
    @ValueSource(strings = {"1100mi", "1153433600", "2g", "2GB", "1.2g"})
    void doesNothingWhenUsageFitsTheCapacity(String capacity) {
        assertThat(check(using("1100mi", capacity))).isEqualTo(Plan.EMPTY);
    }

    @ParameterizedTest
    @ValueSource(strings = {"1153433599", "1099mi", "1153m", "1.1G", "0"})
    void terminatesWhenUsageExceedsTheCapacityByOneByteOrMore(String capacity) {
        assertThat(terminatedPids(check(using("1100mi", capacity)))).containsExactly(812);
    }

    @ParameterizedTest
    @ValueSource(strings = {"x", "", "-1", "4t", "99999999999g"})
    void unreadableCapacitySetsNoLimit(String capacity) {
        var plan = check(using("1100mi", capacity));
        assertThat(plan.violations()).isEmpty();
        assertThat(plan.actions()).isEmpty();
    }

    @Test
    void unreadableCapacityIsReported() {
        assertThat(check(using("1100mi", "4\n")).problems()).isEmpty();
        assertThat(check(using("1100mi", "4\nx")).problems())
                .containsExactly(new HostProblem(
                        "here",
                        new Problem(
                                ProblemCode.CAPACITY_UNREADABLE,
                                "The memory capacity 4\\u000ax of environment a is not a valid amount of memory")));
    }

    @Test
    void noLimitWithoutCapacity() {
        var fleet = host().devices(1)
                .with(env("a").attached(0))
                .with(process(812).inEnvironment("a").uses(0, "15258mi"))
                .fleet();
        assertThat(check(fleet)).isEqualTo(Plan.EMPTY);
    }

    @Test
    void checksEachAttachedDeviceSeparately() {
        var plan = check(host().devices(3)
                .with(env("a").capacity("1000mi").attached(0, 1, 2))
                .with(process(1)
                        .inEnvironment("a")
                        .uses(0, "600mi")
                        .uses(1, "600mi")
                        .uses(2, "1001mi"))
                .with(process(2).inEnvironment("a").uses(1, "500mi"))
                .fleet());
        assertThat(lines(plan))
                .startsWith(
                        "Environment a is using 1153m on device 1 which is 104m over its capacity of 1000mi",
                        "Environment a is using 1049m on device 2 which is 1m over its capacity of 1000mi");
    }

    @Test
    void checksOnlyAttachedDevices() {
        var plan = check(host().devices(2)
                .with(env("a").capacity("1000mi").attached(0), env("b").attached(1))
                .with(process(1).inEnvironment("a").uses(0, "900mi").uses(1, "5000mi"))
                .fleet());
        assertThat(plan).isEqualTo(Plan.EMPTY);
    }

    @Test
    void countsOnlyProcessesOfTheEnvironment() {
        var plan = check(host().devices(1)
                .with(env("a").capacity("1000mi").attached(0), env("b").attached(0))
                .with(
                        process(1).inEnvironment("a").uses(0, "900mi"),
                        process(2).inEnvironment("b").uses(0, "900mi"))
                .with(
                        process(3).uses(0, "900mi"),
                        process(4).membershipUnknown().uses(0, "900mi"))
                .fleet());
        assertThat(plan).isEqualTo(Plan.EMPTY);
    }

    @Test
    void excessOfAnotherUidTerminatesNoProcessOfTheOwner() {
        var plan = check(host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(process(1).inEnvironment("a").uid(1000).uses(0, "800mi"))
                .with(process(2).inEnvironment("a").uid(1003).uses(0, "1100mi"))
                .fleet());
        assertThat(lines(plan)).first().isEqualTo(MESSAGE);
        assertThat(plan.violations()).extracting(Violation::subject).containsExactly("environment a device 0 uid 1003");
        assertThat(terminatedPids(plan)).containsExactly(2);
    }

    @Test
    void addsUpUsageOfSubordinateUidsPerUser() {
        var node = host().devices(1)
                .subordinate(1003, 100_000, 100)
                .with(env("a").capacity("1000mi").attached(0))
                .with(process(1).inEnvironment("a").uses(0, "900mi"));
        for (var pid = 2; pid < 14; pid++) {
            node.with(process(pid).inEnvironment("a").uid(100_000 + pid).uses(0, "90mi"));
        }
        var plan = check(node.fleet());
        assertThat(plan.violations()).extracting(Violation::subject).containsExactly("environment a device 0 uid 1003");
        assertThat(terminatedPids(plan)).containsExactly(13);
    }

    @Test
    void countsTheSubordinateUidsOfTheOwnerAsTheOwner() {
        var plan = check(host().devices(1)
                .subordinate(1000, 165_536, 65_536)
                .with(env("a").capacity("1000mi").attached(0))
                .with(process(1).inEnvironment("a").uid(1000).uses(0, "500mi"))
                .with(process(2).inEnvironment("a").uid(165_536).uses(0, "600mi"))
                .fleet());
        assertThat(plan.violations()).extracting(Violation::subject).containsExactly("environment a device 0 uid 1000");
    }

    /** One of them may be a container of the owner's, and the kernel does not tell which. */
    @Test
    void checksEachUidSeparately() {
        var plan = check(host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(process(1).inEnvironment("a").uid(1001).uses(0, "900mi"))
                .with(process(2).inEnvironment("a").uid(1002).uses(0, "900mi"))
                .fleet());
        assertThat(plan.violations()).isEmpty();
    }

    @Test
    void addsUpUsageOfUnknownUids() {
        var plan = check(host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(process(1).inEnvironment("a").uidUnknown().uses(0, "800mi"))
                .with(process(2).inEnvironment("a").uidUnknown().uses(0, "300mi"))
                .with(process(3).inEnvironment("a").uses(0, "1000mi"))
                .fleet());
        assertThat(lines(plan)).first().isEqualTo(MESSAGE);
        assertThat(terminatedPids(plan)).containsExactly(2);
    }

    @Test
    void unknownMemoryUsageIsReported() {
        var plan = check(host().devices(1)
                .with(env("a").capacity("1000mi").attached(0), env("b").attached(0))
                .with(
                        process(1).inEnvironment("a").usesUnknown(0),
                        process(2).inEnvironment("b").usesUnknown(0))
                .fleet());
        assertThat(lines(plan)).isEmpty();
        assertThat(plan.problems())
                .containsExactly(new HostProblem(
                        "here",
                        new Problem(
                                ProblemCode.MEMORY_UNKNOWN,
                                "The driver does not report how much memory process 1 of environment a uses on"
                                        + " device 0")));
    }

    @ParameterizedTest
    @EnumSource(
            value = SnapshotPart.class,
            mode = EnumSource.Mode.EXCLUDE,
            names = {"EVERY_PROCESS", "EVERY_ENVIRON"})
    void doesNothingWhenSnapshotIsIncomplete(SnapshotPart missing) {
        assertThat(check(hostOverCapacity().missing(missing).fleet())).isEqualTo(Plan.EMPTY);
    }

    private static HostBuilder hostOverCapacity() {
        return host("gpu-1")
                .devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(process(812).inEnvironment("a").uses(0, "1100mi"));
    }

    private static Fleet using(String memory, String capacity) {
        return host().devices(1)
                .with(env("a").capacity(capacity).attached(0))
                .with(process(812).inEnvironment("a").uses(0, memory))
                .fleet();
    }

    private static Plan check(Fleet fleet) {
        return enforce(fleet, KnownRules.ENV_MEMORY);
    }
}
