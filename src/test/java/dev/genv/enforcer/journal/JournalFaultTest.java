package dev.genv.enforcer.journal;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.testsupport.TestTimeouts;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A folder that cannot be used costs the memory of the service, and nothing else. */
class JournalFaultTest extends JournalFixture {
    private static final Set<Thread.State> WAITS = Set.of(Thread.State.WAITING, Thread.State.TERMINATED);

    @BeforeEach
    void findAStray() {
        node.setSnapshot(host().devices(2).with(process(7).uses(0)));
    }

    @Test
    void aTornLastLineCostsThatLine() throws IOException {
        cycle();
        var before = only();
        cycle();
        stop();
        var segment = segments().getLast();
        var bytes = Files.readAllBytes(segment);
        Files.write(segment, Arrays.copyOf(bytes, bytes.length - 10));
        start();
        assertThat(only())
                .as("as the first cycle left it")
                .usingRecursiveComparison()
                .ignoringFields("next")
                .isEqualTo(before);
        cycle();
        cycle();
        restart();
        assertThat(only().id()).isEqualTo(before.id());
        assertThat(only().cycles()).isEqualTo(3);
    }

    @Test
    void everyPrefixOfTheJournalCanBeRead() throws IOException {
        cycle();
        var id = only().id();
        cycle();
        stop();
        var bytes = Files.readAllBytes(segments().getLast());
        for (var length = 0; length < bytes.length; length += 1 + bytes.length / 97) {
            Files.write(segments().getLast(), Arrays.copyOf(bytes, length));
            start();
            assertThat(registry.find(entry -> true, 10))
                    .allSatisfy(entry -> assertThat(entry.id()).isEqualTo(id));
            cycle();
            assertThat(problems()).isEmpty();
            stop();
        }
    }

    @Test
    void aDamagedLineMakesGracesBeginAgain() throws IOException {
        limits = new SafetyLimits(Duration.ofSeconds(60), null, 0);
        restart();
        for (var cycle = 0; cycle < 6; cycle++) {
            cycle();
        }
        var id = only().id();
        stop();
        var lines = Files.readAllLines(segments().getLast());
        lines.set(lines.size() - 2, lines.get(lines.size() - 2).replace("\"ticks\"", "\"tacks\""));
        Files.write(segments().getLast(), lines);
        start();
        cycle();
        cycle();
        assertThat(only().id()).as("the violation itself continues").isEqualTo(id);
        assertThat(node.executed)
                .as("a lost line may have been a change of the state")
                .isEmpty();
    }

    @Test
    void foreignLinesAreLeftOut() throws IOException {
        cycle();
        var id = only().id();
        stop();
        var line = JournalLine.encode("something_new", "{\"a\":1}".getBytes(StandardCharsets.UTF_8));
        Files.write(segments().getLast(), line, StandardOpenOption.APPEND);
        Files.write(
                segments().getLast(),
                new byte[] {'\n', 0, (byte) 0xff, '\n', '{', '}', '\n'},
                StandardOpenOption.APPEND);
        Files.writeString(directory.resolve("notes.txt"), "of somebody else");
        start();
        cycle();
        assertThat(only().id()).isEqualTo(id);
        assertThat(problems()).isEmpty();
        assertThat(directory.resolve("notes.txt")).hasContent("of somebody else");
    }

    @Test
    void aFolderThatEveryUserCanWriteToIsForeign() throws IOException {
        stop();
        setPermissions(directory, "rwxrwxrwx");
        start();
        assertEnforcesWith(ProblemCode.JOURNAL_FOREIGN);
        setPermissions(directory, "rwx------");
        assertRestartRecovers();
    }

    @Test
    void aSegmentThatOthersCanReadIsForeign() throws IOException {
        cycle();
        stop();
        setPermissions(segments().getLast(), "rw-r--r--");
        start();
        cycle();
        assertThat(problems()).containsExactly(ProblemCode.JOURNAL_FOREIGN);
    }

    @Test
    void noLinkIsFollowed() throws IOException {
        cycle();
        stop();
        var segment = segments().getLast();
        var elsewhere = Files.move(segment, directory.resolve("elsewhere"));
        Files.createSymbolicLink(segment, elsewhere);
        start();
        cycle();
        assertThat(problems()).containsExactly(ProblemCode.JOURNAL_FOREIGN);
    }

    @Test
    void aMissingFolderIsUsedAfterARestart() throws IOException {
        stop();
        var folder = directory;
        directory = folder.resolve("later");
        start();
        assertEnforcesWith(ProblemCode.JOURNAL_UNWRITABLE);
        Files.createDirectory(
                directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        assertRestartRecovers();
    }

    @Test
    void aFolderInWhichNothingCanBeCreatedIsUnwritable() throws IOException {
        stop();
        directory = Path.of("/proc/self/task");
        start();
        assertEnforcesWith(ProblemCode.JOURNAL_UNWRITABLE);
        stop();
        directory = Files.createTempDirectory("journal");
        start();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "rm $J/*",
                "rm $J/*.jsonl",
                "rm $J/events-*.jsonl",
                "rm $J/journal.lock",
                "rm -r $J && mkdir -m 700 $J",
                "cp -a $J $J.new && mv $J $J.old && mv $J.new $J",
                "cp -a $J/journal-*.jsonl $J/copy && mv $J/copy $J/journal-*.jsonl",
                "truncate -s 100 $J/journal-*.jsonl",
                "truncate -s 100 $J/events-*.jsonl"
            })
    void filesThatAreLostAreReportedAndWrittenAnew(String loss) throws Exception {
        stop();
        directory = Files.createDirectory(directory.resolve("journal"));
        setPermissions(directory, "rwx------");
        limits = new SafetyLimits(Duration.ZERO, null, 0);
        start();
        cycle();
        cycle();
        var shell = new ProcessBuilder("sh", "-c", loss).inheritIO();
        shell.environment().put("J", directory.toString());
        assertThat(shell.start().waitFor()).isZero();
        cycle();
        cycle();
        assertThat(problems()).containsExactly(ProblemCode.JOURNAL_UNWRITABLE);
        cycle();
        assertThat(problems()).isEmpty();
        var id = only().id();
        restart();
        cycle();
        assertThat(only().id()).isEqualTo(id);
        assertThat(node.executed).as("one SIGTERM").hasSize(1);
    }

    @Test
    void theSecondServiceHasMemoryOnly() throws IOException {
        cycle();
        var first = journal;
        var id = only().id();
        startLimit = SHORT_START;
        start();
        startLimit = TestTimeouts.HANG;
        assertThat(registry.find(entry -> true, 10)).isEmpty();
        cycle();
        assertThat(problems()).containsExactly(ProblemCode.JOURNAL_LOCKED);
        first.close();
        cycle();
        cycle();
        assertThat(problems()).as("it does not take over").containsExactly(ProblemCode.JOURNAL_LOCKED);
        assertThat(only().id()).isNotEqualTo(id);
        restart();
        assertThat(only().id()).as("the second service has written nothing").isEqualTo(id);
    }

    @Test
    void theStartWaitsUntilTheEarlierServiceHasStopped() throws Exception {
        cycle();
        var opening = new FutureTask<>(() -> new DiskJournal(config(), TestTimeouts.HANG, TestTimeouts.HANG));
        var thread = Thread.ofPlatform().daemon().start(opening);
        await().until(() -> WAITS.contains(thread.getState()));
        stop();
        journal = opening.get();
        startWith(journal);
        cycle();
        assertThat(problems()).isEmpty();
        assertThat(only().cycles()).isEqualTo(2);
        assertThat(node.executed).as("one SIGTERM").hasSize(1);
    }

    @Test
    void oldSegmentsAreDeletedAndTheStateIsKept() throws IOException {
        stop();
        maxBytes = 512 << 10;
        start();
        cycle();
        var id = only().id();
        for (var cycle = 0; cycle < 900; cycle++) {
            var more = process(100 + cycle % 2).uses(1);
            node.setSnapshot(host().devices(2).with(process(7).uses(0), more));
            cycle();
        }
        var sizes = segments().stream().mapToLong(file -> file.toFile().length());
        assertThat(sizes.sum()).isLessThan(maxBytes);
        assertThat(segments().getFirst().getFileName().toString()).isNotEqualTo(FileNames.JOURNAL.segment(1));
        restart();
        assertThat(registry.find(id)).isPresent().get().satisfies(entry -> {
            assertThat(entry.active()).isTrue();
            assertThat(entry.cycles()).isEqualTo(901);
        });
    }

    @Test
    void anErrorWhileTheJournalIsReadCostsTheJournalOnly() throws IOException {
        stop();
        var kinds = Enforcer.savedKinds();
        var twice = Stream.concat(kinds.stream(), kinds.stream()).toList(); // the reading refuses it
        var faulty = new JournalConfig(directory, config().limits(), "boot", twice);
        journal = new DiskJournal(faulty, TestTimeouts.HANG, TestTimeouts.HANG);
        startWith(journal);
        assertEnforcesWith(ProblemCode.JOURNAL_UNWRITABLE);
    }

    private void assertEnforcesWith(ProblemCode problem) {
        cycle();
        assertThat(problems()).containsExactly(problem);
        assertThat(node.executed).isNotEmpty();
    }

    /** What is wrong with the journal at the start keeps it unused until the next start. */
    private void assertRestartRecovers() throws IOException {
        cycle();
        assertThat(problems()).isNotEmpty();
        restart();
        cycle();
        assertThat(problems()).isEmpty();
        var id = only().id();
        restart();
        assertThat(only().id()).isEqualTo(id);
    }

    private static void setPermissions(Path file, String permissions) throws IOException {
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
    }
}
