package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LivenessReaderTest extends LivenessFixture {
    LivenessReaderTest(@TempDir Path folder) {
        super(folder);
    }

    @Test
    void isAliveWhileOneOfItsPidsRuns() throws IOException {
        proc.process(41);
        assertThat(isAlive(List.of(40, 41), List.of())).isTrue();
        assertThat(isAlive(List.of(40, 42), List.of())).isFalse();
        assertThat(isAlive(List.of(), List.of())).isFalse();
    }

    @Test
    void deadPidsAreOmitted() throws IOException {
        proc.process(41);
        proc.process(43).state('Z');
        var environment = EnvBuilder.env("a").pids(40, 41, 41, -1, 43).build();
        assertThat(alive(List.of(environment)))
                .singleElement()
                .satisfies(alive -> assertThat(alive.pids()).containsExactly(41, 43));
    }

    @Test
    void aZombieCountsAsAlive() throws IOException {
        proc.process(41).state('Z');
        assertThat(isAlive(List.of(41), List.of())).isTrue();
    }

    /** The kernel opens the directory of a thread, but does not list it. */
    @Test
    void aThreadIsNotAProcess() throws IOException {
        proc.process(41);
        Files.writeString(proc.process(42).file("status"), "Tgid:\t41\nPid:\t42\nUid:\t1000\t0\t0\t0\n");
        assertThat(isAlive(List.of(41), List.of())).isTrue();
        assertThat(alive(List.of(EnvBuilder.env("a").pids(41, 42).build())))
                .singleElement()
                .satisfies(alive -> assertThat(alive.pids()).containsExactly(41));
    }

    @Test
    void findsOneOfManyListedPids() throws IOException {
        proc.process(41);
        var pids = IntStream.rangeClosed(41, 10_000).boxed().toList();
        assertThat(isAlive(pids, List.of())).isTrue();
        assertThat(isAlive(pids.subList(1, pids.size()), List.of())).isFalse();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, -41, Integer.MIN_VALUE})
    void invalidPidIsNotAlive(int pid) throws IOException {
        proc.process(41);
        assertThat(isAlive(List.of(pid), List.of())).isFalse();
    }

    @Test
    void returnsRealUidsOfRunningPids() throws IOException {
        proc.process(40).uid(1000);
        proc.process(41).uid(1001).state('Z');
        proc.process(42).uid(1002);
        Files.writeString(proc.process(43).file("status"), "Name:\tpython\nUid:\tnobody\n");
        var environments = List.of(
                EnvBuilder.env("a").pids(40, 41, 43, 999).build(),
                EnvBuilder.env("b").pids(40).build());
        assertThat(uids(environments)).isEqualTo(Map.of(40, 1000L, 41, 1001L));
    }

    /** Whose an environment is, its shell tells, also where somebody struck its pid out. */
    @Test
    void returnsRealUidOfTheShellAnEnvironmentIsNamedAfter() throws IOException {
        proc.process(40).uid(1000);
        proc.process(99).uid(1008);
        assertThat(uids(List.of(EnvBuilder.env("40").pids(99).build()))).isEqualTo(Map.of(40, 1000L, 99, 1008L));
    }

    @Test
    void omitsManyDeadPids() throws IOException {
        proc.process(40).uid(1000);
        var pids = IntStream.range(30, 300_000).toArray();

        var environment = EnvBuilder.env("a").pids(pids).build();
        var facts = reader.read(List.of(envs(List.of(environment))));

        assertThat(alive(facts, List.of(environment)))
                .singleElement()
                .satisfies(alive -> assertThat(alive.pids()).containsExactly(40));
        assertThat(facts.processes()).isEqualTo(Reading.of(List.of(new LiveProcess(40, 1000L))));
    }

    /** It must not look as if nobody's uid spoke against what was written. */
    @Test
    void unreadableUidOfARunningProcessIsAnError() throws IOException {
        var status = proc.process(40).file("status");
        Files.delete(status);
        Files.createDirectory(status);
        var environments = List.of(EnvBuilder.env("a").pids(40).build());
        assertThat(reader.read(List.of(envs(environments))).processes()).isInstanceOf(Reading.Failed.class);
    }

    private Map<Integer, Long> uids(List<Environment> environments) throws IOException {
        return live(reader.read(List.of(envs(environments))), environments).uidsOfPids();
    }
}
