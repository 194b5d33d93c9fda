package dev.genv.enforcer.node;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Outcome;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.StateFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class DetacherTest {
    private static final Attachment MINE = new Attachment("mine", "4g", "20/11/2026 10:00:00");
    private static final Attachment LATER = new Attachment("mine", "4g", "20/11/2026 10:00:01");
    private static final Attachment OTHERS = new Attachment("\u00fcbung", null, "20/11/2026 10:00:00");
    private final Path path;
    private final Path file;
    private final Detacher detacher;

    DetacherTest(@TempDir Path folder) throws IOException {
        path = Files.createDirectory(folder.resolve("genv"));
        file = path.resolve("devices.json");
        detacher = new Detacher(path, Duration.ofMillis(200));
    }

    @Test
    void takesOutThatAttachmentAndChangesNothingElse() throws Exception {
        files().device(0, MINE, OTHERS, LATER).device(1, MINE).write();
        assertThat(detach(0, MINE)).containsExactly(Result.of(Outcome.DETACHED));
        assertThat(file).hasBinaryContent(bytes(files().device(0, OTHERS, LATER).device(1, MINE)));
        assertThat(path.toFile().list()).containsExactlyInAnyOrder("envs.json", "devices.json", "genv.lock");
    }

    @Test
    void takesOutSeveralAtOnce() throws Exception {
        files().device(0, MINE, OTHERS).device(1, MINE).write();
        assertThat(detacher.detach(List.of(action(0, MINE), action(0, LATER), action(1, MINE), action(1, MINE))))
                .extracting(Result::outcome)
                .containsExactly(
                        Outcome.DETACHED, Outcome.ALREADY_DETACHED, Outcome.DETACHED, Outcome.ALREADY_DETACHED);
        assertThat(file).hasBinaryContent(bytes(files().device(0, OTHERS).device(1)));
    }

    @Test
    void whatIsNotAttachedAnyMoreIsLeftAlone() throws Exception {
        files().device(0, OTHERS).device(1, MINE).write();
        assertUntouched(Outcome.ALREADY_DETACHED, 0, MINE);
    }

    @Test
    void whatWasAttachedAnewMeanwhileIsLeftAlone() throws Exception {
        files().device(0, LATER).write();
        assertUntouched(Outcome.ALREADY_DETACHED, 0, MINE);
    }

    @Test
    void aMachineWithoutStateHasNothingAttached() throws Exception {
        assertThat(detach(0, MINE)).containsExactly(Result.of(Outcome.ALREADY_DETACHED));
        assertThat(path).isEmptyDirectory();
        Files.delete(path);
        assertThat(detach(0, MINE)).containsExactly(Result.of(Outcome.ALREADY_DETACHED));
        assertThat(path).doesNotExist();
    }

    @Test
    void nothingIsWrittenWhileSomebodyElseHoldsTheLock() throws Exception {
        files().device(0, MINE).write();
        try (var directory = requireNonNull(StateDirectory.open(path));
                var lock = directory.lock(Duration.ofSeconds(1), true)) {
            assertThat(lock).isNotNull();
            assertThat(assertUntouched(Outcome.FAILED, 0, MINE)).contains("genv.lock is held by another program");
        }
        assertThat(detach(0, MINE)).containsExactly(Result.of(Outcome.DETACHED));
    }

    @Test
    void aLinkIsNeitherFollowedNorReplaced() throws Exception {
        files().device(0, MINE).write();
        var elsewhere = Files.move(file, path.resolveSibling("elsewhere"));
        Files.createSymbolicLink(file, elsewhere);
        assertThat(assertUntouched(Outcome.FAILED, 0, MINE)).contains("devices.json", "is a symbolic link");
        assertThat(file).isSymbolicLink();
    }

    @Test
    void theFormFromBefore090IsRefused() throws Exception {
        Files.writeString(file, """
                {"devices": {"0": {"total_memory": "1mi", "eids": {"mine":
                 {"eid": "mine", "attached": "20/11/2026 10:00:00", "gpu_memory": "4g"}}}}}""");
        assertThat(assertUntouched(Outcome.FAILED, 0, MINE)).contains("devices.json", "before genv 0.9.0");
    }

    @Test
    void aTornFileIsLeftAlone() throws Exception {
        Files.writeString(file, "{\"devices\": [");
        assertThat(assertUntouched(Outcome.FAILED, 0, MINE)).contains("devices.json is not JSON");
    }

    @Test
    void aDirectoryThatCannotBeOpenedIsAFailure() throws Exception {
        files().device(0, MINE).write();
        Files.createSymbolicLink(path.resolveSibling("link"), path);
        var result = new Detacher(path.resolveSibling("link"), Duration.ofSeconds(1)).detach(List.of(action(0, MINE)));
        assertThat(result).extracting(Result::outcome).containsExactly(Outcome.FAILED);
        assertThat(file).hasBinaryContent(bytes(files().device(0, MINE)));
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
        return detacher.detach(List.of(action(device, attachment)));
    }

    private static Action.Detach action(int device, Attachment attachment) {
        var config = new Environment.Config(null, null, null);
        var environment = new Environment(attachment.eid(), 1000L, "alice", "", config, List.of(), List.of());
        return new Action.Detach("node", environment, device, attachment);
    }

    private StateFiles files() {
        return new StateFiles(path);
    }

    private static byte[] bytes(StateFiles files) {
        return files.devicesJson().getBytes(StandardCharsets.US_ASCII);
    }
}
