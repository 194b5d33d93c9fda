package dev.genv.enforcer.testsupport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import dev.genv.enforcer.testsupport.linux.SteppedProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What every adapter must find of real processes that hold a device file. A {@code /proc} with a driver for that file links to them, so
 * that no other process is found.
 */
@Timeout(600)
public abstract class UnlistedSuite extends UnlistedUseSuite {
    /** Of no account. */
    private static final int USER = 54_012;

    /** The folder of passwd(5) and subuid(5). */
    protected abstract Path etc();

    private static List<String> problems(Snapshot snapshot) {
        return snapshot.problems().stream()
                .filter(problem -> problem.code() == ProblemCode.GPU_UNLISTED)
                .map(Problem::detail)
                .toList();
    }

    @Test
    void reportsTheHolderOfMemoryThatLastsUnexplained() throws Exception {
        try (var holder = DeviceFileHolder.start(MEMBER, "");
                var other = Child.withEnvironment(MEMBER)) {
            link(holder.pid(), other.pid());
            use(4096);
            var third = observe(3);
            assertThat(third.unlisted().holders()).isEmpty();
            assertThat(problems(third)).isEmpty();
            var fourth = observe();
            assertThat(fourth.unlisted().processes()).singleElement().satisfies(process -> {
                assertThat(process.pid()).isEqualTo(holder.pid());
                assertThat(process.devices()).containsExactly(0);
                assertThat(process.memoryOn(0)).isNull();
                assertThat(process.membership()).isEqualTo(new Membership.InEnvironment("15971"));
            });
            assertThat(problems(fourth))
                    .singleElement()
                    .asString()
                    .startsWith("process %d of uid %d (python3".formatted(holder.pid(), CurrentProcess.uid()))
                    .endsWith("holds device 0, but is not listed; 4096 MiB on device 0 belong to no listed process");
            use(5000);
            var fifth = observe();
            assertThat(problems(fifth)).isEqualTo(problems(fourth));
            assertThat(fifth.unlisted().memory()).containsExactly(Map.entry(0, Memory.ofMebibytes(5000)));
            assertThat(fifth.unlisted().holders().getFirst().since())
                    .isEqualTo(fourth.unlisted().holders().getFirst().since());
        }
    }

    @Test
    void reportsNothingOnceTheMemoryIsExplained() throws Exception {
        try (var holder = DeviceFileHolder.start(MEMBER, "")) {
            link(holder.pid());
            use(4096);
            observe(4);
            smi().process(0, holder.pid(), "4096");
            assertThat(observe().unlisted().memory()).isEmpty();
        }
    }

    @Test
    void reportsTheDeviceWithoutAnyHolder() throws Exception {
        use(4096);
        var snapshot = observe(4);
        assertThat(problems(snapshot))
                .containsExactly(
                        "4096 MiB on device 0 belong to no listed process, and no process was found that holds it,"
                                + " except protected programs");
    }

    /** Root is no single user, so nothing would be inferred for its processes. */
    @ParameterizedTest
    @ValueSource(strings = {"clear", "overflow"})
    void infersTheMembershipOfAHolderThatHasOverwrittenItsEnviron(String how, @TempDir Path folder) throws Exception {
        Requirements.rootWithCapabilities();
        Files.setAttribute(folder, "unix:mode", 0777);
        try (var holder =
                SteppedProcess.ofUser(USER, folder, MEMBER, "setsid", "fork", "hold:" + DeviceFileHolder.FILE, how)) {
            link(holder.pid(), holder.leftBehind(0));
            use(4096);
            for (var snapshot : List.of(observe(4), observe(1))) {
                assertThat(snapshot.unlisted().processes()).singleElement().satisfies(process -> {
                    assertThat(process.pid()).isEqualTo(holder.pid());
                    assertThat(process.membership()).isEqualTo(new Membership.InEnvironment("15971"));
                    assertThat(process.membershipBy()).isEqualTo(MembershipSource.ANCESTOR);
                });
            }
        }
    }

    @Test
    void findsTheFileAmongThousandsOfDescriptors() throws Exception {
        var many = """
            import os, resource
            resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
            others = [os.dup(0) for _ in range(5000)]
            """;
        try (var holder = DeviceFileHolder.start(Map.of(), many)) {
            link(holder.pid());
            use(4096);
            assertThat(observe(4).unlisted().processes())
                    .extracting(GpuProcess::pid)
                    .containsExactly(holder.pid());
        }
    }

    /** Otherwise a user with subordinate uids could leave out the processes of all others. */
    @Test
    void subordinateUidsTakeTurnsAsTheirOwner() throws Exception {
        Files.writeString(etc().resolve("subuid"), "1003:100000:65536\n");
        for (var i = 0; i <= HolderFacts.MOST_HOLDERS; i++) {
            openGpu(1000 + i).uid(100_000 + i).startTime(2);
        }
        openGpu(9000).uid(1004).startTime(1);
        link();
        use(4096);
        assertThat(observe(4).unlisted().processes())
                .hasSizeLessThanOrEqualTo(HolderFacts.MOST_HOLDERS)
                .extracting(GpuProcess::pid)
                .contains(9000);
    }

    private FakeProc.FakeProcess openGpu(int pid) throws IOException {
        var process = new FakeProc(proc()).process(pid);
        Files.createSymbolicLink(Files.createDirectory(process.file("fd")).resolve("3"), DeviceFileHolder.FILE);
        return process;
    }

    @Test
    void ignoresTheNameOfAFile(@TempDir Path folder) throws Exception {
        var imitation = Files.createFile(folder.resolve("nvidia0"));
        try (var holder = DeviceFileHolder.start(imitation, Map.of(), "")) {
            link(holder.pid());
            use(4096);
            assertThat(observe(4).unlisted().processes()).isEmpty();
        }
    }

    /** Whether it is found depends on the moment. */
    @Test
    void observesAProcessThatOpensAndClosesTheFileAllTheTime() throws Exception {
        var loop = """
            import os
            while True: os.close(os.open('/dev/zero', os.O_PATH))
            """;
        try (var process = Child.running(List.of("/usr/bin/python3", "-I", "-S", "-c", loop), Map.of())) {
            link(process.pid());
            use(4096);
            for (var i = 0; i < 8; i++) {
                var snapshot = observe();
                assertThat(snapshot.missing()).isEmpty();
                assertThat(snapshot.unlisted().processes())
                        .extracting(GpuProcess::pid)
                        .isSubsetOf(process.pid());
            }
        }
    }
}
