package dev.genv.enforcer.enforcement.report;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class ShareTest {
    private static final Workload POD = new Workload(null, null, new Pod("u"), null);

    /** Uid 1003 has the subordinate uids from 100000. */
    static Stream<Arguments> owners() {
        return Stream.of(
                row("an account", process(1).uid(1003).account("alice"), "alice", "alice"),
                row(
                        "a recorded name, which every user can choose",
                        process(1).uid(1003).recorded("x"),
                        "uid:1003",
                        "x"),
                row("a uid without an account", process(1).uid(1004), "uid:1004", "1004"),
                row("a subordinate uid: one user has many", process(1).uid(100_007), "uid:1003", "1003"),
                row("also in a pod", process(1).uid(100_007).workload(POD), "uid:1003", "1003"),
                row("a uid in a pod is anybody's", process(1).uid(1003).workload(POD), "", "1003"),
                row("a uid of an unknown owner", process(1).uid(100_007).ownerUnknown(), "", "100007"),
                row("an unknown uid", process(1).uidUnknown(), "", null));
    }

    private static Arguments row(String name, GpuProcessBuilder process, String owner, @Nullable String user) {
        return Arguments.of(name, process, owner, user);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("owners")
    void processHasAShareOfItsOwner(String name, GpuProcessBuilder built, String owner, @Nullable String user) {
        var process = host().subordinate(1003, 100_000, 65_536)
                .with(built)
                .snapshot()
                .processes()
                .getFirst();

        assertThat(Share.of("here", Optional.of(process))).isEqualTo(new Share("here", owner));
        assertThat(process.userOrUid()).isEqualTo(user);
    }
}
