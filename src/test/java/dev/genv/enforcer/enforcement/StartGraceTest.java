package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.DeviceLimits;
import dev.genv.enforcer.policy.RuleMode;
import dev.genv.enforcer.policy.RuleName;
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
    void whatMayRestOnAnEarlierChangeWaits(RuleName rule) {
        shows(0, broken(rule));
        cycles(59);
        assertThat(node.performed).isEmpty();
        assertThat(outcomes()).containsExactly("skipped_grace");

        cycles(60);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void withoutAGraceNothingWaits() {
        grace = Duration.ZERO;
        shows(0, broken(RuleName.ENV_DEVICES));

        assertThat(node.performed).hasSize(1);
    }

    /** One that was not observed at the start may have got a SIGTERM before it: a second SIGTERM makes many trainers abort. */
    @Test
    void aProcessThatIsOlderThanTheStartWaitsAlsoWhenItIsSeenLater() {
        shows(0, at());
        shows(30, at(process(1).uses(0)));
        assertThat(node.performed).isEmpty();

        cycles(60);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void aProcessThatCameLaterDoesNotWait() {
        shows(0, at());
        shows(10, at(process(1).later(AFTER_THE_START).uses(0)));

        assertThat(node.performed).hasSize(1);
    }

    /** Its shell still believes that the device is its own. */
    @Test
    void aProcessThatCameLaterWaitsWhereItsEnvironmentWasThereBefore() {
        shows(0, at(a()));
        shows(10, at(a(), process(1).in("a").later(AFTER_THE_START).uses(0)));
        assertThat(node.performed).isEmpty();

        cycles(60);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void aProcessThatCameWithItsEnvironmentDoesNotWait() {
        shows(0, at());
        node.at(1_000_000 + AFTER_THE_START);
        shows(10, at(a()));
        shows(20, at(a(), process(1).in("a").later(2 * AFTER_THE_START).uses(0)));

        assertThat(node.performed).hasSize(1);
    }

    /** What cannot be read says nothing of what was changed. */
    @Test
    void theTimeBeginsWithTheFirstCompleteObservation() {
        shows(0, at(a(), process(1).in("a").uses(0)).without(Part.ATTACHMENTS));
        shows(50, at(a(), process(1).in("a").uses(0)));
        cycles(109);
        assertThat(node.performed).isEmpty();

        cycles(110);
        assertThat(node.performed).hasSize(1);
    }

    /** Who held it before, nobody can know: it may have been struck out of devices.json and written again without them. */
    @Test
    void theTimeOfADeviceBeginsWithItsFirstDescription() {
        shows(0, at(a(), process(1).in("a").uses(0)).undescribed(0));
        cycles(100);
        shows(110, at(a(), process(1).in("a").uses(0)));
        cycles(169);
        assertThat(node.performed).isEmpty();

        cycles(170);
        assertThat(node.performed).hasSize(1);
    }

    /** Nobody could see or mend anything while the host was not observed. */
    @Test
    void timeInWhichTheStateCannotBeReadDoesNotCount() {
        shows(0, at(a(), process(1).in("a").uses(0)));
        shows(10, at().without(Part.values()));
        shows(1000, at(a(), process(1).in("a").uses(0)));
        assertThat(node.performed).isEmpty();

        cycles(1059);
        assertThat(node.performed).isEmpty();
        cycles(1060);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void aHostThatIsReachedLaterWaitsFromItsOwnFirstObservation() {
        other.shows(host("other").without(Part.values()));
        shows(0, at());
        cycles(100);
        other.shows(host("other").devices(1).with(process(1).uses(0)));
        cycles(110, 169);
        assertThat(other.performed).isEmpty();

        cycles(170);
        assertThat(other.performed).hasSize(1);
    }

    /** Judged as before the start: it came after the shell of the environment, so it named it knowingly. */
    @Test
    void aStrangerInAnOldEnvironmentIsJudgedAsBefore() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        var stranger = process(1).in("a").uid(1007).uses(0);
        shows(0, at(a().shellSince(900_000), stranger));
        cycles(60);

        assertThat(node.performed).hasSize(1);
    }

    /** Whether the stranger was there first is not known; then no entry makes it a victim. */
    @Test
    void aStrangerInAnEnvironmentOfUnknownAgeIsLeftAlone() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        shows(0, at(a().livePidsOf(1000), process(1).in("a").uid(1007).uses(0)));
        cycles(60);

        assertThat(node.performed).isEmpty();
        assertThat(outcomes()).contains("skipped_protected");
    }

    @Test
    void anHonestProcessInItsLongLivedEnvironmentIsJudgedAfterTheGrace() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        shows(
                0,
                at(
                        a().pids(7).livePidsOf(1000).attached(0),
                        process(1).in("a").uses(0).uses(1)));
        cycles(59);
        assertThat(node.performed).isEmpty();

        cycles(60);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void aQuotaWaitsAfterAStartAndThenDetachesTheIdleDevice() {
        limits = new DeviceLimits(1, Map.of());
        var held = at(a().attached(0), process(1).in("a").uses(0)).with(env("b").attached(1));
        shows(0, held);
        cycles(59);
        assertThat(node.performed).isEmpty();

        cycles(60);
        assertThat(node.performed)
                .singleElement()
                .isInstanceOfSatisfying(
                        Action.Detach.class,
                        detach -> assertThat(detach.environment().eid())
                                .as("the idle one")
                                .isEqualTo("b"));
    }

    /** What is found on it may have been forged while it was not observed. */
    @Test
    void aQuotaWaitsForTheHostThatWasReachedLast() {
        limits = new DeviceLimits(1, Map.of());
        other.shows(host("other").without(Part.values()));
        shows(0, at(a().attached(0)));
        cycles(100);
        other.shows(host("other").devices(1).with(env("b").attached(0)));
        cycles(110, 169);
        assertThat(node.performed).isEmpty();
        assertThat(other.performed).isEmpty();

        cycles(170);
        assertThat(node.performed.size() + other.performed.size()).isEqualTo(1);
    }

    /** Bob's job runs under the uid of a container; somebody writes an environment in his name, dated long ago. */
    @Test
    void aForgedEntryIsDetachedFirstAfterTheGrace() {
        limits = new DeviceLimits(1, Map.of());
        var job = process(1).in("a").uid(1007).uses(0);
        shows(0, at(a().attached(0), job));
        cycles(100);
        var forged = at(a().attached(0), job)
                .with(env("forged").attachedAt("01/01/2020 00:00:00", 1))
                .with(process(2).in("forged").uid(1008).later(AFTER_THE_START).uses(1));
        shows(110, forged);
        cycles(169);
        assertThat(node.performed).isEmpty();
        assertThat(journal.find(JournalEntry::active, 10))
                .anySatisfy(entry -> assertThat(entry.change())
                        .isNotNull()
                        .extracting(Change::after)
                        .isEqualTo("it counts environment forged with device 1 on host here"));

        cycles(170);
        assertThat(node.performed)
                .isNotEmpty()
                .allSatisfy(action -> assertThat(action.environmentId()).isEqualTo("forged"));
    }

    /** The service was restarted after somebody wrote an environment in bob's name, dated long ago, and used the device. */
    @Test
    void recordedTimesChooseNoJobAfterAStart() {
        limits = new DeviceLimits(1, Map.of());
        var held = at(
                        a().attached(0),
                        process(1).in("a").uid(1007).uses(0),
                        process(2).in("forged").uid(1008).uses(1))
                .with(env("forged").attachedAt("01/01/2020 00:00:00", 1));
        shows(0, held);
        cycles(60, 120, 7200);

        assertThat(node.performed).isEmpty();
    }

    /** Otherwise the quota would be enforced for a forged entry as soon as the entry is not new any more. */
    @Test
    void anAttachmentIsNewForAsLongAsTheGraceLasts() {
        limits = new DeviceLimits(1, Map.of());
        grace = Duration.ofHours(2);
        interval = Duration.ofMinutes(1);
        var job = process(1).in("a").uid(1007).uses(0);
        shows(0, at(a().attached(0), job));
        for (var second = 60; second <= 7_260; second += 60) {
            cycles(second);
        }
        shows(7_320, at(a().attached(0), job).with(env("forged").attachedAt("01/01/2020 00:00:00", 1)));
        for (var second = 7_380; second < 7_320 + 7_200; second += 60) {
            cycles(second);
        }
        assertThat(node.performed).isEmpty();

        cycles(7_320 + 7_200);
        assertThat(node.performed)
                .singleElement()
                .satisfies(action -> assertThat(action.environmentId()).isEqualTo("forged"));
    }

    /** Otherwise the quota would be enforced without a grace for an entry that somebody forges an hour before it can be read. */
    @Test
    void anAttachmentStaysNewWhileTheStateCannotBeRead() {
        limits = new DeviceLimits(1, Map.of());
        interval = Duration.ofSeconds(20);
        shows(0, withJob());
        cyclesUntil(100);
        shows(120, withJob().with(old()));
        shows(140, withJob().with(old()).without(Part.ATTACHMENTS));
        cyclesUntil(4_980);
        shows(5_000, withJob().with(old()));
        cycles(5_020, 5_040);
        assertThat(node.performed).as("it is visible for 40 s").isEmpty();

        cycles(5_060);
        assertThat(node.performed)
                .singleElement()
                .satisfies(action -> assertThat(action.environmentId()).isEqualTo("b"));
    }

    private void cyclesUntil(int last) {
        while (time.passed().compareTo(Duration.ofSeconds(last)) < 0) {
            cycles((int) time.passed().plus(interval).toSeconds());
        }
    }

    /** A running job whose uid is that of a container, so that the kernel does not prove it to be the user's. */
    private static HostBuilder withJob() {
        return at(a().attached(0), process(1).in("a").uid(1007).uses(0));
    }

    private static EnvBuilder old() {
        return env("b").attachedAt("01/01/2020 00:00:00", 1);
    }

    /** It was disputed for a while: it counts in his quota only since it is not. */
    @Test
    void anOldEntryThatBeginsToCountIsNew() {
        limits = new DeviceLimits(1, Map.of());
        var job = process(1).in("a").uid(1007).uses(0);
        shows(0, at(a().attached(0), job).with(env("b").disputed("who knows").attached(1)));
        cycles(100);
        shows(110, at(a().attached(0), job).with(env("b").attachedAt("01/01/2020 00:00:00", 1)));
        cycles(170);

        assertThat(node.performed)
                .singleElement()
                .satisfies(action -> assertThat(action.environmentId()).isEqualTo("b"));
    }

    /** To strike it out and to put it back makes nothing new. */
    @Test
    void anAttachmentThatIsPutBackIsAsOldAsBefore() {
        limits = new DeviceLimits(1, Map.of());
        var job = process(1).in("a").uid(1007).uses(0);
        shows(0, at(a().attached(0), job));
        cycles(100);
        shows(110, at(a().attached(0), job).with(env("forged").attachedAt("01/01/2020 00:00:00", 1)));
        shows(120, at(a(), job).with(env("forged").attachedAt("01/01/2020 00:00:00", 1)));
        shows(130, at(a().attached(0), job).with(env("forged").attachedAt("01/01/2020 00:00:00", 1)));
        cycles(200);

        assertThat(node.performed)
                .singleElement()
                .satisfies(action -> assertThat(action.environmentId()).isEqualTo("forged"));
    }

    private static HostBuilder broken(RuleName rule) {
        var inA = process(1).in("a").uses(0, "2000mi");
        return switch (rule) {
            case NON_ENV_PROCESSES -> at(process(1).uses(0));
            case INACTIVE_ENV_PROCESSES -> at(inA);
            case ENV_DEVICES -> at(a(), inA);
            case ENV_MEMORY -> at(a().capacity("1g").attached(0), inA);
            case MAX_DEVICES_PER_USER, ENV_OWNER -> throw new IllegalArgumentException();
        };
    }

    private static HostBuilder at(GpuProcessBuilder... processes) {
        return host().devices(2).with(processes);
    }

    private static HostBuilder at(EnvBuilder environment, GpuProcessBuilder... processes) {
        return at(processes).with(environment);
    }

    private static EnvBuilder a() {
        return env("a");
    }

    private void shows(int second, HostBuilder host) {
        node.shows(host);
        cycles(second);
    }

    private void cycles(int... seconds) {
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
                .restraint(new Restraint(Duration.ZERO, grace, null, 0))
                .build();
        return new Enforcer(setup, journal, time.ticker(), List.of());
    }
}
