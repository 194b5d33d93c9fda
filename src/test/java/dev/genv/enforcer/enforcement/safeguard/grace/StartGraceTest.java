package dev.genv.enforcer.enforcement.safeguard.grace;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A service that was just started cannot know what was changed before: what may rest on that waits. */
class StartGraceTest extends StartGraceFixture {
    /** The environment, an attachment or a pid may have been struck out, or the capacity lowered, before the start. */
    @ParameterizedTest
    @ValueSource(strings = {"non-env-processes", "inactive-env-processes", "env-devices", "env-memory"})
    void violationsPresentAtTheStartWaitForTheGrace(String rule) {
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
        observe(0, broken("env-devices"));

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
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
        var stranger = process(1).inEnvironment("a").uid(1007).uses(0);
        observe(0, hostWith(a().shellStartedAt(900_000), stranger));
        runCycles(60);

        assertThat(node.executed).hasSize(1);
    }

    /** Whether the stranger was there first is not known; then no entry makes it a victim. */
    @Test
    void strangerInEnvironmentOfUnknownAgeIsProtected() {
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
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
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
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

    private static HostBuilder broken(String rule) {
        var inA = process(1).inEnvironment("a").uses(0, "2000mi");
        return switch (rule) {
            case "non-env-processes" -> hostWith(process(1).uses(0));
            case "inactive-env-processes" -> hostWith(inA);
            case "env-devices" -> hostWith(a(), inA);
            case "env-memory" -> hostWith(a().capacity("1g").attached(0), inA);
            default -> throw new IllegalArgumentException(rule);
        };
    }

    private List<String> outcomes() {
        return registry.find(entry -> true, 100).stream()
                .flatMap(entry -> entry.actions().stream())
                .map(note -> note.outcome().label())
                .toList();
    }
}
