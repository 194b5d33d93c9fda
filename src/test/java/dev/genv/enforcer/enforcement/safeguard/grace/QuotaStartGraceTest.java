package dev.genv.enforcer.enforcement.safeguard.grace;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.history.state.StateChange;
import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.definition.Limits;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The age of an attachment decides which one a quota detaches; at the start it is unknown. */
class QuotaStartGraceTest extends StartGraceFixture {
    @Test
    void quotaWaitsForTheGraceThenDetachesTheIdleDevice() {
        limits = new Limits(1, Map.of());
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
        limits = new Limits(1, Map.of());
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
        limits = new Limits(1, Map.of());
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
        assertThat(registry.find(ViolationRecord::active, 10))
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
        limits = new Limits(1, Map.of());
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
        limits = new Limits(1, Map.of());
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
        limits = new Limits(1, Map.of());
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

    /** It was disputed for a while: it counts in the quota of its user only since the dispute ended. */
    @Test
    void attachmentOfResolvedDisputeCountsAsNew() {
        limits = new Limits(1, Map.of());
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
        limits = new Limits(1, Map.of());
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
}
