package dev.genv.enforcer.node.state;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.Machine.InstructionResult;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.genv.DevicesFile.AttachmentId;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.NodeState.Detacher;
import dev.genv.enforcer.observation.StateParser;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The temporary files of a killed run. */
@Timeout(600)
class DetacherLeftoversTest {
    private static final LockHolders HOLDERS = new LockHolders(new ProcFs(Path.of("/proc")));
    private static final Attachment MINE = new Attachment("mine", "4g", "20/11/2026 10:00:00");
    private final Path path;
    private final Detacher detacher;

    DetacherLeftoversTest(@TempDir Path folder) throws IOException {
        path = Files.createDirectory(folder.resolve("genv"));
        detacher = new Detacher(path, Duration.ofMillis(200), HOLDERS);
    }

    @Test
    void removesTempFilesOfAKilledRunFirst() throws Exception {
        files().device(0, MINE).write();
        var left =
                List.of(".devices.json.genv-enforcer-0123456789abcdef", ".devices.json.genv-enforcer-ffffffffffffffff");
        for (var name : left) {
            Files.writeString(path.resolve(name), "{");
        }
        assertThat(detach(0, MINE)).containsExactly(Result.of(Outcome.DETACHED));
        assertThat(path.toFile().list()).containsExactlyInAnyOrder("devices.json", "envs.json", "genv.lock");
        assertThat(detacher.removeLeftovers()).isEmpty();
    }

    @Test
    void removesOnlyTempFilesUnderTheLock() throws Exception {
        var others = List.of(
                ".devices.json.genv-enforcer-0123456789ABCDEF",
                ".devices.json.genv-enforcer-0123456789abcde",
                ".devices.json.genv-enforcer-0123456789abcdef0",
                ".envs.json.genv-enforcer-0123456789abcdef",
                "x.devices.json.genv-enforcer-0123456789abcdef",
                ".devices.json.swp");
        for (var name : others) {
            Files.createFile(path.resolve(name));
        }
        assertThat(detacher.removeLeftovers()).isEmpty();
        assertThat(path.resolve("genv.lock")).doesNotExist();
        var precious = Files.writeString(path.resolveSibling("precious"), "precious");
        Files.createSymbolicLink(path.resolve(".devices.json.genv-enforcer-0000000000000000"), precious);
        var directory = Files.createDirectory(path.resolve(".devices.json.genv-enforcer-1111111111111111"));
        try (var held = requireNonNull(StateDirectory.open(path));
                var lock = GenvLock.acquire(held, Duration.ofSeconds(1), true)) {
            assertThat(lock).isNotNull();
            assertThatThrownBy(detacher::removeLeftovers)
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("genv.lock is held");
        }
        assertThat(detacher.removeLeftovers()).containsExactly(".devices.json.genv-enforcer-0000000000000000");
        assertThat(precious).hasContent("precious");
        assertThat(directory).isDirectory();
        assertThat(others).allSatisfy(name -> assertThat(path.resolve(name)).exists());
    }

    @Test
    void findsNoTempFilesWithoutDirectory() throws Exception {
        Files.delete(path);
        assertThat(detacher.removeLeftovers()).isEmpty();
        assertThat(path).doesNotExist();
    }

    private List<Result> detach(int device, Attachment attachment) throws InterruptedException {
        return results(detacher.detach(List.of(action(device, attachment))));
    }

    private static AttachmentId action(int device, Attachment attachment) {
        return new AttachmentId(device, attachment);
    }

    private static List<Result> results(List<InstructionResult> replies) {
        return replies.stream().map(DetacherLeftoversTest::result).toList();
    }

    private static Result result(InstructionResult reply) {
        return switch (reply) {
            case InstructionResult.Finished(var result) -> result;
            case InstructionResult.Locked(var lock) ->
                Result.failed(StateParser.lockProblem(lock).orElseThrow().detail());
            case InstructionResult.Unreadable(var devices) ->
                Result.failed("devices.json: " + StateParser.clause(devices));
            case InstructionResult.Inaccessible _ -> throw new AssertionError("it is accessible");
        };
    }

    private StateFiles files() {
        return new StateFiles(path);
    }
}
