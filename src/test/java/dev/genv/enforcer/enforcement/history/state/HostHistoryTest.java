package dev.genv.enforcer.enforcement.history.state;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What is kept of a host's history, and what is dropped first. */
class HostHistoryTest {
    private static final int MANY = 5_000;

    private final FakeTime time = new FakeTime();
    private final HostHistory history = new HostHistory(time.ticker());
    private long ticks = 1_000_000;

    /** Ids that long take as many bytes as all of the state file, and would do so again in every cycle. */
    @Test
    void truncatesLongTexts() {
        var texts = new ArrayList<WeakReference<String>>();
        for (var round = 0; round < 3; round++) {
            texts.addAll(hearLongTexts(round));
        }
        await().untilAsserted(() -> {
            System.gc();
            assertThat(texts).allMatch(text -> text.refersTo(null));
        });
    }

    private List<WeakReference<String>> hearLongTexts(int round) {
        var id = round + "x".repeat(4_000_000);
        var capacity = "1g" + " ".repeat(4_000_000);
        history.record(host().with(env(id).user(id).capacity(capacity)).snapshot(), ticks++);
        history.record(host().snapshot(), ticks++);
        assertThat(history.environment(id)).isNotNull();
        return List.of(new WeakReference<>(id), new WeakReference<>(capacity));
    }

    @Test
    void dropsOldestEndedEnvironmentsFirst() {
        history.record(host().with(env("named"), env("early")).snapshot(), ticks++);
        history.record(host().with(process(1).inEnvironment("named")).snapshot(), ticks++);
        for (var i = 0; i < MANY; i++) {
            time.pass(Duration.ofMillis(1));
            history.record(
                    host().with(process(1).inEnvironment("named"))
                            .with(env("many-" + i))
                            .snapshot(),
                    ticks++);
        }

        assertThat(history.environment("early")).isNull();
        assertThat(history.environment("many-0")).isNull();
        assertThat(history.environment("many-" + (MANY - 2))).isNotNull();
        assertThat(history.environment("named"))
                .as("what a process on a GPU names")
                .isNotNull();
    }

    /** Users would write many environments in that time, so that the one is forgotten which another user struck out. */
    @ParameterizedTest
    @EnumSource(
            value = SnapshotPart.class,
            names = {"PROCESSES", "EVERY_PROCESS", "EVERY_ENVIRON"})
    void environmentNamedByAProcessIsKeptWhileTheGpuToolFails(SnapshotPart missing) {
        history.record(
                host().with(env("named"))
                        .with(process(1).inEnvironment("named"))
                        .snapshot(),
                ticks++);
        for (var i = 0; i < MANY; i++) {
            history.record(host().with(env("many-" + i)).missing(missing).snapshot(), ticks++);
        }
        time.pass(Duration.ofMinutes(61));
        history.record(host().missing(missing).snapshot(), ticks++);
        assertThat(history.environment("named")).isNotNull();

        history.record(host().snapshot(), ticks++);
        assertThat(history.environment("named")).isNull();
    }

    @Test
    void delistedPidIsKeptWhileTheGpuToolFails() {
        var process = process(7);
        history.record(host().with(env("a").pids(7)).with(process).snapshot(), ticks++);
        history.record(host().with(env("a")).missing(SnapshotPart.PROCESSES).snapshot(), ticks++);
        time.pass(Duration.ofMinutes(61));
        history.record(host().with(env("a")).missing(SnapshotPart.PROCESSES).snapshot(), ticks++);

        assertThat(history.delisting(process.build())).isNotNull();
    }

    @Test
    void forgetsEndedEnvironmentsAfterAnHour() {
        history.record(host().with(env("a"), env("named")).snapshot(), ticks++);
        history.record(host().with(process(1).inEnvironment("named")).snapshot(), ticks++);
        time.pass(Duration.ofMinutes(61));
        history.record(host().with(process(1).inEnvironment("named")).snapshot(), ticks++);

        assertThat(history.environment("a")).isNull();
        assertThat(history.environment("named")).isNotNull();
    }
}
