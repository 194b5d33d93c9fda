package dev.genv.enforcer.enforcement.action;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.history.StateChange;
import dev.genv.enforcer.enforcement.journal.Journal;
import dev.genv.enforcer.enforcement.journal.JournalEntry;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.DeviceLimits;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.RuleMode;
import dev.genv.enforcer.policy.plan.RuleName;
import dev.genv.enforcer.testsupport.EnvBuilder;
import dev.genv.enforcer.testsupport.FakeHost;
import dev.genv.enforcer.testsupport.FakeTime;
import dev.genv.enforcer.testsupport.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.HostBuilder;
import dev.genv.enforcer.testsupport.SetupBuilder;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A service that was just started cannot know what was changed before: what may rest on that waits. */
class StartGraceTest {
    private static final Duration GRACE = Duration.ofSeconds(60);
    private static final long AFTER_THE_START = 20_000;

    private final FakeTime time = new FakeTime();
    private final Journal journal = new Journal(100);
    private final FakeHost node = new FakeHost(host());
    private final FakeHost other = new FakeHost(host("other"));
    private final Set<RuleName> off = EnumSet.of(RuleName.ENV_OWNER);
    private DeviceLimits limits = DeviceLimits.NONE;
    private Duration grace = GRACE;
    private Duration interval = Duration.ofDays(1);
    private @Nullable Enforcer enforcer;

    /** The environment, an attachment or a pid may have been struck out, or the capacity lowered, before the start. */
    @ParameterizedTest
    @EnumSource(
            value = RuleName.class,
            names = {"NON_ENV_PROCESSES", "INACTIVE_ENV_PROCESSES", "ENV_DEVICES", "ENV_MEMORY"})
    void violationsPresentAtTheStartWaitForTheGrace(RuleName rule) {
        observe(0, broken(rule));
        runCycles(59);
        assertThat(node.executed).isEmpty();
        assertThat(outcomes()).containsExactly("skipped_grace");

        runCycles(60);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void enforcesAtOnceWithoutGrace() {
        grace = Duration.ZERO;
        observe(0, broken(RuleName.ENV_DEVICES));

        assertThat(node.executed).hasSize(1);
    }

    /** One that was not observed at the start may have got a SIGTERM before it: a second SIGTERM makes many trainers abort. */
    @Test
    void processOlderThanTheStartWaitsWhenObservedLater() {
        observe(0, hostWith());
        observe(30, hostWith(process(1).uses(0)));
        assertThat(node.executed).isEmpty();

        runCycles(60);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void processStartedLaterDoesNotWait() {
        observe(0, hostWith());
        observe(10, hostWith(process(1).startedLaterBy(AFTER_THE_START).uses(0)));

        assertThat(node.executed).hasSize(1);
    }

    /** Its shell still believes that the device is its own. */
    @Test
    void processStartedLaterWaitsInEnvironmentOlderThanTheStart() {
        observe(0, hostWith(a()));
        observe(
                10,
                hostWith(
                        a(),
                        process(1)
                                .inEnvironment("a")
                                .startedLaterBy(AFTER_THE_START)
                                .uses(0)));
        assertThat(node.executed).isEmpty();

        runCycles(60);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void processOfEnvironmentCreatedLaterDoesNotWait() {
        observe(0, hostWith());
        node.setTicks(1_000_000 + AFTER_THE_START);
        observe(10, hostWith(a()));
        observe(
                20,
                hostWith(
                        a(),
                        process(1)
                                .inEnvironment("a")
                                .startedLaterBy(2 * AFTER_THE_START)
                                .uses(0)));

        assertThat(node.executed).hasSize(1);
    }

    /** What cannot be read says nothing of what was changed. */
    @Test
    void graceStartsAtTheFirstCompleteObservation() {
        observe(0, hostWith(a(), process(1).inEnvironment("a").uses(0)).missing(SnapshotPart.ATTACHMENTS));
        observe(50, hostWith(a(), process(1).inEnvironment("a").uses(0)));
        runCycles(109);
        assertThat(node.executed).isEmpty();

        runCycles(110);
        assertThat(node.executed).hasSize(1);
    }

    /** The earlier attachments are unknown: another user may have removed them from devices.json. */
    @Test
    void graceOfADeviceStartsAtItsFirstEntryInTheState() {
        observe(0, hostWith(a(), process(1).inEnvironment("a").uses(0)).undescribed(0));
        runCycles(100);
        observe(110, hostWith(a(), process(1).inEnvironment("a").uses(0)));
        runCycles(169);
        assertThat(node.executed).isEmpty();

        runCycles(170);
        assertThat(node.executed).hasSize(1);
    }

    /** No violation was reported while the host was not observed. */
    @Test
    void timeInWhichTheStateCannotBeReadDoesNotCount() {
        observe(0, hostWith(a(), process(1).inEnvironment("a").uses(0)));
        observe(10, hostWith().missing(SnapshotPart.values()));
        observe(1000, hostWith(a(), process(1).inEnvironment("a").uses(0)));
        assertThat(node.executed).isEmpty();

        runCycles(1059);
        assertThat(node.executed).isEmpty();
        runCycles(1060);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void graceOfAHostStartsAtItsOwnFirstObservation() {
        other.setSnapshot(host("other").missing(SnapshotPart.values()));
        observe(0, hostWith());
        runCycles(100);
        other.setSnapshot(host("other").devices(1).with(process(1).uses(0)));
        runCycles(110, 169);
        assertThat(other.executed).isEmpty();

        runCycles(170);
        assertThat(other.executed).hasSize(1);
    }

    /** Judged as before the start: it came after the shell of the environment, so it named it knowingly. */
    @Test
    void strangerInOlderEnvironmentIsTerminatedAfterTheGrace() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        var stranger = process(1).inEnvironment("a").uid(1007).uses(0);
        observe(0, hostWith(a().shellStartedAt(900_000), stranger));
        runCycles(60);

        assertThat(node.executed).hasSize(1);
    }

    /** Whether the stranger was there first is not known; then no entry makes it a victim. */
    @Test
    void strangerInEnvironmentOfUnknownAgeIsProtected() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        observe(
                0,
                hostWith(
                        a().livePidsOf(1000),
                        process(1).inEnvironment("a").uid(1007).uses(0)));
        runCycles(60);

        assertThat(node.executed).isEmpty();
        assertThat(outcomes()).contains("skipped_protected");
    }

    @Test
    void processOfTheOwnerIsTerminatedAfterTheGrace() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        observe(
                0,
                hostWith(
                        a().pids(7).livePidsOf(1000).attached(0),
                        process(1).inEnvironment("a").uses(0).uses(1)));
        runCycles(59);
        assertThat(node.executed).isEmpty();

        runCycles(60);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void quotaWaitsForTheGraceThenDetachesTheIdleDevice() {
        limits = new DeviceLimits(1, Map.of());
        var held =
                hostWith(a().attached(0), process(1).inEnvironment("a").uses(0)).with(env("b").attached(1));
        observe(0, held);
        runCycles(59);
        assertThat(node.executed).isEmpty();

        runCycles(60);
        assertThat(node.executed)
                .singleElement()
                .isInstanceOfSatisfying(
                        Action.Detach.class,
                        detach -> assertThat(detach.environment().eid())
                                .as("the idle one")
                                .isEqualTo("b"));
    }

    /** What is found on it may have been forged while it was not observed. */
    @Test
    void quotaWaitsForTheGraceOfTheLastReachedHost() {
        limits = new DeviceLimits(1, Map.of());
        other.setSnapshot(host("other").missing(SnapshotPart.values()));
        observe(0, hostWith(a().attached(0)));
        runCycles(100);
        other.setSnapshot(host("other").devices(1).with(env("b").attached(0)));
        runCycles(110, 169);
        assertThat(node.executed).isEmpty();
        assertThat(other.executed).isEmpty();

        runCycles(170);
        assertThat(node.executed.size() + other.executed.size()).isEqualTo(1);
    }

    /** A job runs under the uid of a container. Another user adds an environment in its user's name with an old time. */
    @Test
    void backdatedAttachmentIsDetachedFirstAfterTheGrace() {
        limits = new DeviceLimits(1, Map.of());
        var job = process(1).inEnvironment("a").uid(1007).uses(0);
        observe(0, hostWith(a().attached(0), job));
        runCycles(100);
        var forged = hostWith(a().attached(0), job)
                .with(env("forged").attachedAt("01/01/2020 00:00:00", 1))
                .with(process(2)
                        .inEnvironment("forged")
                        .uid(1008)
                        .startedLaterBy(AFTER_THE_START)
                        .uses(1));
        observe(110, forged);
        runCycles(169);
        assertThat(node.executed).isEmpty();
        assertThat(journal.find(JournalEntry::active, 10))
                .anySatisfy(entry -> assertThat(entry.change())
                        .isNotNull()
                        .extracting(StateChange::after)
                        .isEqualTo("it counts environment forged with device 1 on host here"));

        runCycles(170);
        assertThat(node.executed)
                .isNotEmpty()
                .allSatisfy(action -> assertThat(action.environmentId()).isEqualTo("forged"));
    }

    /** The service restarts after another user added an environment in bob's name with an old time, and used the device. */
    @Test
    void recordedTimesChooseNoJobAfterAStart() {
        limits = new DeviceLimits(1, Map.of());
        var held = hostWith(
                        a().attached(0),
                        process(1).inEnvironment("a").uid(1007).uses(0),
                        process(2).inEnvironment("forged").uid(1008).uses(1))
                .with(env("forged").attachedAt("01/01/2020 00:00:00", 1));
        observe(0, held);
        runCycles(60, 120, 7200);

        assertThat(node.executed).isEmpty();
    }

    /** Otherwise the quota would be enforced for a forged entry as soon as the entry is not new any more. */
    @Test
    void attachmentCountsAsNewDuringTheGrace() {
        limits = new DeviceLimits(1, Map.of());
        grace = Duration.ofHours(2);
        interval = Duration.ofMinutes(1);
        var job = process(1).inEnvironment("a").uid(1007).uses(0);
        observe(0, hostWith(a().attached(0), job));
        for (var second = 60; second <= 7_260; second += 60) {
            runCycles(second);
        }
        observe(7_320, hostWith(a().attached(0), job).with(env("forged").attachedAt("01/01/2020 00:00:00", 1)));
        for (var second = 7_380; second < 7_320 + 7_200; second += 60) {
            runCycles(second);
        }
        assertThat(node.executed).isEmpty();

        runCycles(7_320 + 7_200);
        assertThat(node.executed)
                .singleElement()
                .satisfies(action -> assertThat(action.environmentId()).isEqualTo("forged"));
    }

    /** Otherwise the quota would act without a grace on an entry that was forged an hour before the service can read it. */
    @Test
    void anAttachmentStaysNewWhileTheStateCannotBeRead() {
        limits = new DeviceLimits(1, Map.of());
        interval = Duration.ofSeconds(20);
        observe(0, withJob());
        cyclesUntil(100);
        observe(120, withJob().with(old()));
        observe(140, withJob().with(old()).missing(SnapshotPart.ATTACHMENTS));
        cyclesUntil(4_980);
        observe(5_000, withJob().with(old()));
        runCycles(5_020, 5_040);
        assertThat(node.executed).as("it is visible for 40 s").isEmpty();

        runCycles(5_060);
        assertThat(node.executed)
                .singleElement()
                .satisfies(action -> assertThat(action.environmentId()).isEqualTo("b"));
    }

    private void cyclesUntil(int last) {
        while (time.passed().compareTo(Duration.ofSeconds(last)) < 0) {
            runCycles((int) time.passed().plus(interval).toSeconds());
        }
    }

    /** A running job whose uid is that of a container, so that the kernel does not prove it to be the user's. */
    private static HostBuilder withJob() {
        return hostWith(a().attached(0), process(1).inEnvironment("a").uid(1007).uses(0));
    }

    private static EnvBuilder old() {
        return env("b").attachedAt("01/01/2020 00:00:00", 1);
    }

    /** It was disputed for a while: it counts in his quota only since it is not. */
    @Test
    void attachmentOfResolvedDisputeCountsAsNew() {
        limits = new DeviceLimits(1, Map.of());
        var job = process(1).inEnvironment("a").uid(1007).uses(0);
        observe(
                0,
                hostWith(a().attached(0), job)
                        .with(env("b").disputed("who knows").attached(1)));
        runCycles(100);
        observe(110, hostWith(a().attached(0), job).with(env("b").attachedAt("01/01/2020 00:00:00", 1)));
        runCycles(170);

        assertThat(node.executed)
                .singleElement()
                .satisfies(action -> assertThat(action.environmentId()).isEqualTo("b"));
    }

    /** To strike it out and to put it back makes nothing new. */
    @Test
    void restoredAttachmentKeepsItsAge() {
        limits = new DeviceLimits(1, Map.of());
        var job = process(1).inEnvironment("a").uid(1007).uses(0);
        observe(0, hostWith(a().attached(0), job));
        runCycles(100);
        observe(110, hostWith(a().attached(0), job).with(env("forged").attachedAt("01/01/2020 00:00:00", 1)));
        observe(120, hostWith(a(), job).with(env("forged").attachedAt("01/01/2020 00:00:00", 1)));
        observe(130, hostWith(a().attached(0), job).with(env("forged").attachedAt("01/01/2020 00:00:00", 1)));
        runCycles(200);

        assertThat(node.executed)
                .singleElement()
                .satisfies(action -> assertThat(action.environmentId()).isEqualTo("forged"));
    }

    private static HostBuilder broken(RuleName rule) {
        var inA = process(1).inEnvironment("a").uses(0, "2000mi");
        return switch (rule) {
            case NON_ENV_PROCESSES -> hostWith(process(1).uses(0));
            case INACTIVE_ENV_PROCESSES -> hostWith(inA);
            case ENV_DEVICES -> hostWith(a(), inA);
            case ENV_MEMORY -> hostWith(a().capacity("1g").attached(0), inA);
            case MAX_DEVICES_PER_USER, ENV_OWNER -> throw new IllegalArgumentException();
        };
    }

    private static HostBuilder hostWith(GpuProcessBuilder... processes) {
        return host().devices(2).with(processes);
    }

    private static HostBuilder hostWith(EnvBuilder environment, GpuProcessBuilder... processes) {
        return hostWith(processes).with(environment);
    }

    private static EnvBuilder a() {
        return env("a");
    }

    private void observe(int second, HostBuilder host) {
        node.setSnapshot(host);
        runCycles(second);
    }

    private void runCycles(int... seconds) {
        var running = enforcer == null ? enforcer() : enforcer;
        enforcer = running;
        for (var second : seconds) {
            time.passTo(Duration.ofSeconds(second));
            assertThat(running.runCycle()).isPresent();
        }
    }

    private List<String> outcomes() {
        return journal.find(entry -> true, 100).stream()
                .flatMap(entry -> entry.actions().stream())
                .map(note -> note.outcome().label())
                .toList();
    }

    private Enforcer enforcer() {
        var modes = Arrays.stream(RuleName.values())
                .filter(rule -> !off.contains(rule))
                .collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE));
        var setup = SetupBuilder.setup(node, other)
                .remote(true)
                .interval(interval)
                .rules(modes, limits)
                .restraint(new SafetyLimits(Duration.ZERO, grace, null, 0))
                .build();
        return new Enforcer(setup, journal, time.ticker(), List.of());
    }
}
