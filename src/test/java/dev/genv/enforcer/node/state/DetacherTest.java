package dev.genv.enforcer.node.state;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Machine.InstructionResult;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.genv.DevicesFile.AttachmentId;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.Libc.NativeFunction;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.NodeState.Detacher;
import dev.genv.enforcer.node.state.NodeState.Detacher.BeforeReplace;
import dev.genv.enforcer.observation.StateParser;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(600)
class DetacherTest {
    private static final LockHolders HOLDERS = new LockHolders(new ProcFs(Path.of("/proc")));
    private static final Attachment MINE = new Attachment("mine", "4g", "20/11/2026 10:00:00");
    private static final Attachment LATER = new Attachment("mine", "4g", "20/11/2026 10:00:01");
    private static final Attachment OTHERS = new Attachment("\u00fcbung", null, "20/11/2026 10:00:00");
    private static final int O_PATH = 010000000;
    private static final NativeFunction DUP2 = NativeFunction.of("dup2", JAVA_INT, JAVA_INT, JAVA_INT);
    private final Path path;
    private final Path file;
    private final Detacher detacher;

    DetacherTest(@TempDir Path folder) throws IOException {
        path = Files.createDirectory(folder.resolve("genv"));
        file = path.resolve("devices.json");
        detacher = new Detacher(path, Duration.ofMillis(200), HOLDERS);
    }

    @Test
    void removesOnlyTheGivenAttachment() throws Exception {
        files().device(0, MINE, OTHERS, LATER).device(1, MINE).write();
        assertThat(detach(0, MINE)).containsExactly(Result.of(Outcome.DETACHED));
        assertThat(file).hasBinaryContent(bytes(files().device(0, OTHERS, LATER).device(1, MINE)));
        assertThat(path.toFile().list()).containsExactlyInAnyOrder("envs.json", "devices.json", "genv.lock");
    }

    @Test
    void removesSeveralAttachmentsAtOnce() throws Exception {
        files().device(0, MINE, OTHERS).device(1, MINE).write();
        assertThat(results(
                        detacher.detach(List.of(action(0, MINE), action(0, LATER), action(1, MINE), action(1, MINE)))))
                .extracting(Result::outcome)
                .containsExactly(
                        Outcome.DETACHED, Outcome.ALREADY_DETACHED, Outcome.DETACHED, Outcome.ALREADY_DETACHED);
        assertThat(file).hasBinaryContent(bytes(files().device(0, OTHERS).device(1)));
    }

    @Test
    void leavesFileUnchangedWhenAttachmentIsGone() throws Exception {
        files().device(0, OTHERS).device(1, MINE).write();
        assertUntouched(Outcome.ALREADY_DETACHED, 0, MINE);
    }

    @Test
    void leavesFileUnchangedWhenAttachmentWasRenewed() throws Exception {
        files().device(0, LATER).write();
        assertUntouched(Outcome.ALREADY_DETACHED, 0, MINE);
    }

    @Test
    void missingStateCountsAsAlreadyDetached() throws Exception {
        assertThat(detach(0, MINE)).containsExactly(Result.of(Outcome.ALREADY_DETACHED));
        assertThat(path).isEmptyDirectory();
        Files.delete(path);
        assertThat(detach(0, MINE)).containsExactly(Result.of(Outcome.ALREADY_DETACHED));
        assertThat(path).doesNotExist();
    }

    @Test
    void writesNothingWhileAnotherProcessHoldsTheLock() throws Exception {
        files().device(0, MINE).write();
        try (var directory = requireNonNull(StateDirectory.open(path));
                var lock = GenvLock.acquire(directory, Duration.ofSeconds(1), true)) {
            assertThat(lock).isNotNull();
            assertThat(assertUntouched(Outcome.FAILED, 0, MINE))
                    .contains("genv.lock is held by another program")
                    .contains("process %d ".formatted(ProcessHandle.current().pid()));
        }
        assertThat(detach(0, MINE)).containsExactly(Result.of(Outcome.DETACHED));
    }

    /** Somebody who does not know of the lock, or who has taken its file away. */
    @Test
    void concurrentWriteIsPreserved() throws Exception {
        List<BeforeReplace> others = List.of(
                () -> files().device(0, MINE, OTHERS, LATER).write(),
                () -> Files.writeString(
                        file, files().device(0, MINE, OTHERS, LATER).devicesJson()));
        for (var other : others) {
            files().device(0, MINE, OTHERS).write();
            assertThat(detachWhile(once(other))).containsExactly(Result.of(Outcome.DETACHED));
            assertThat(file).hasBinaryContent(bytes(files().device(0, OTHERS, LATER)));
        }
        assertThat(path.toFile().list()).containsExactlyInAnyOrder("envs.json", "devices.json", "genv.lock");
    }

    @Test
    void concurrentDetachmentCountsAsAlreadyDetached() throws Exception {
        files().device(0, MINE, OTHERS).write();
        assertThat(detachWhile(once(() -> files().device(0, OTHERS).write())))
                .containsExactly(Result.of(Outcome.ALREADY_DETACHED));
        files().device(0, MINE).write();
        assertThat(detachWhile(once(() -> Files.delete(file)))).containsExactly(Result.of(Outcome.ALREADY_DETACHED));
        assertThat(file).doesNotExist();
    }

    @Test
    void lockFileRemovedMeanwhileIsLockedAgain() throws Exception {
        files().device(0, MINE).write();
        assertThat(detachWhile(once(() -> Files.delete(path.resolve("genv.lock")))))
                .containsExactly(Result.of(Outcome.DETACHED));
        assertThat(path.resolve("genv.lock")).exists();
        assertThat(file).hasBinaryContent(bytes(files().device(0)));
    }

    @Test
    void failsWhenTheFileChangesAtEveryAttempt() throws Exception {
        files().device(0, MINE).write();
        var results = detachWhile(() -> files().device(0, MINE).write());
        assertThat(results).singleElement().satisfies(result -> {
            assertThat(result.outcome()).isEqualTo(Outcome.FAILED);
            assertThat(result.detail()).contains("devices.json").contains("changed repeatedly");
        });
        assertThat(file).hasBinaryContent(bytes(files().device(0, MINE)));
    }

    @Test
    void symbolicLinkIsNeitherFollowedNorReplaced() throws Exception {
        files().device(0, MINE).write();
        var elsewhere = Files.move(file, path.resolveSibling("elsewhere"));
        Files.createSymbolicLink(file, elsewhere);
        assertThat(assertUntouched(Outcome.FAILED, 0, MINE)).contains("devices.json", "is a symbolic link");
        assertThat(file).isSymbolicLink();
    }

    @Test
    void refusesTheFormatBeforeGenv090() throws Exception {
        Files.writeString(file, """
            {"devices": {"0": {"total_memory": "1mi", "eids": {"mine":
             {"eid": "mine", "attached": "20/11/2026 10:00:00", "gpu_memory": "4g"}}}}}\
            """);
        assertThat(assertUntouched(Outcome.FAILED, 0, MINE)).contains("devices.json", "before genv 0.9.0");
    }

    @Test
    void leavesTruncatedFileUnchanged() throws Exception {
        Files.writeString(file, "{\"devices\": [");
        assertThat(assertUntouched(Outcome.FAILED, 0, MINE)).contains("devices.json is not JSON");
    }

    /** DEL is one byte in the file and six as genv writes it; the service reads no file that large. */
    @Test
    void doesNotWriteAFileThatWouldBeTooLargeToRead() throws Exception {
        var deletes = "\u007f".repeat(StateDirectory.LARGEST_FILE / 2);
        files().device(0, MINE).write();
        Files.writeString(
                file, Files.readString(file).replace("{\n  \"dev", "{\n  \"x\": \"" + deletes + "\",\n  \"dev"));
        assertThat(assertUntouched(Outcome.FAILED, 0, MINE))
                .isEqualTo("devices.json would become larger than 6291456 bytes");
    }

    @Test
    void failsWhenTheDirectoryCannotBeOpened() throws Exception {
        files().device(0, MINE).write();
        Files.createSymbolicLink(path.resolveSibling("link"), path);
        var result = new Detacher(path.resolveSibling("link"), Duration.ofSeconds(1), HOLDERS)
                .detach(List.of(action(0, MINE)));
        assertThat(results(result)).extracting(Result::outcome).containsExactly(Outcome.FAILED);
        assertThat(file).hasBinaryContent(bytes(files().device(0, MINE)));
    }

    /** The file is replaced then, and must not look like one that another program wrote. */
    @Test
    void detachesInADirectoryThatCannotBeSynced() throws Exception {
        files().device(0, MINE, OTHERS).write();
        assertThat(detachWhile(this::preventSync)).containsExactly(Result.of(Outcome.DETACHED));
        assertThat(file).hasBinaryContent(bytes(files().device(0, OTHERS)));
    }

    /** Gives the open directory a descriptor that is only a place in the file system (O_PATH): fsync(2) refuses it. */
    private void preventSync() throws IOException {
        var place = FileCalls.openat(FileCalls.AT_FDCWD, path.toString(), O_PATH, 0);
        try (var descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (var descriptor : descriptors) {
                var number = Integer.parseInt(descriptor.getFileName().toString());
                if (number != place && Files.isSameFile(descriptor, path)) {
                    DUP2.call(place, number);
                }
            }
        }
        FileCalls.close(place);
    }

    /** Tries it and gives the detail of what came of it. */
    private String assertUntouched(Outcome outcome, int device, Attachment attachment) throws Exception {
        var before = Files.readAllBytes(file);
        var key = Files.readAttributes(file, "unix:ino,lastModifiedTime");
        var results = detach(device, attachment);
        assertThat(results).extracting(Result::outcome).containsExactly(outcome);
        assertThat(file).hasBinaryContent(before);
        assertThat(Files.readAttributes(file, "unix:ino,lastModifiedTime")).isEqualTo(key);
        return String.valueOf(results.getFirst().detail());
    }

    private List<Result> detach(int device, Attachment attachment) throws InterruptedException {
        return results(detacher.detach(List.of(action(device, attachment))));
    }

    private List<Result> detachWhile(BeforeReplace meanwhile) throws InterruptedException {
        return results(new Detacher(path, Duration.ofSeconds(5), HOLDERS, meanwhile).detach(List.of(action(0, MINE))));
    }

    private static BeforeReplace once(BeforeReplace meanwhile) {
        var done = new AtomicBoolean();
        return () -> {
            if (done.compareAndSet(false, true)) {
                meanwhile.happens();
            }
        };
    }

    private static AttachmentId action(int device, Attachment attachment) {
        return new AttachmentId(device, attachment);
    }

    private static List<Result> results(List<InstructionResult> replies) {
        return replies.stream().map(DetacherTest::result).toList();
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

    private static byte[] bytes(StateFiles files) {
        return files.devicesJson().getBytes(StandardCharsets.US_ASCII);
    }
}
