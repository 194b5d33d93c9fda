package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.testsupport.EnvBuilder;
import dev.genv.enforcer.testsupport.FakeProc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProcLivenessSourceTest {
    private final FakeProc fake;
    private final ProcLivenessSource livenessSource;

    ProcLivenessSourceTest(@TempDir Path folder) {
        fake = new FakeProc(folder);
        livenessSource = new ProcLivenessSource(new ProcFs(folder));
    }

    @Test
    void returnsRealUidsOfRunningPids() throws IOException {
        fake.process(40).uid(1000);
        fake.process(41).uid(1001).state('Z');
        fake.process(42).uid(1002);
        Files.writeString(fake.process(43).file("status"), "Name:\tpython\nUid:\tnobody\n");
        var environments = List.of(
                EnvBuilder.env("a").pids(40, 41, 43, 999).build(),
                EnvBuilder.env("b").pids(40).build());
        assertThat(livenessSource.uids(environments)).isEqualTo(Map.of(40, 1000L, 41, 1001L));
    }

    /** Whose an environment is, its shell tells, also where somebody struck its pid out. */
    @Test
    void returnsRealUidOfTheShellAnEnvironmentIsNamedAfter() throws IOException {
        fake.process(40).uid(1000);
        fake.process(99).uid(1008);
        assertThat(livenessSource.uids(List.of(EnvBuilder.env("40").pids(99).build())))
                .isEqualTo(Map.of(40, 1000L, 99, 1008L));
    }

    @Test
    void omitsAMillionDeadPids() throws IOException {
        fake.process(40).uid(1000);
        var pids = IntStream.range(30, 1_000_000).toArray();

        var alive = livenessSource.alive(List.of(EnvBuilder.env("a").pids(pids).build()));

        assertThat(alive)
                .singleElement()
                .satisfies(environment -> assertThat(environment.pids()).containsExactly(40));
        assertThat(livenessSource.uids(alive)).isEqualTo(Map.of(40, 1000L));
    }

    /** It must not look as if nobody's uid spoke against what was written. */
    @Test
    void unreadableUidOfARunningProcessIsAnError() throws IOException {
        var status = fake.process(40).file("status");
        Files.delete(status);
        Files.createDirectory(status);
        var environments = List.of(EnvBuilder.env("a").pids(40).build());
        assertThatThrownBy(() -> livenessSource.uids(environments)).isInstanceOf(IOException.class);
    }
}
