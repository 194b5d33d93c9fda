package dev.genv.enforcer.journal;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What users write takes a bounded part of the journal, and events are not lost without a report. */
class JournalBoundsTest extends JournalFixture {
    private static final int ENVIRONMENTS = 2_000;
    private static final HostBuilder STRAY = host().devices(2).with(process(7).uses(0));

    @Test
    void environmentsThatAreReplacedInEachCycleDisplaceNoEvent() throws IOException {
        stop();
        maxBytes = 1 << 20;
        start();
        node.setSnapshot(STRAY);
        cycle();
        var id = only().id();
        var first = events.after(0, 10).events();
        for (var cycle = 0; cycle < 30; cycle++) {
            node.setSnapshot(
                    host().devices(2).with(environments(cycle)).with(process(7).uses(0)));
            cycle();
            assertThat(bytes()).isLessThan(maxBytes);
        }
        restart();
        assertThat(only().id()).isEqualTo(id);
        assertThat(events.after(0, 10).events()).containsSubsequence(first);
        assertThat(problems()).isEmpty();
    }

    @Test
    void historyThatIsTooLargeMakesGracesBeginAgain() throws IOException {
        stop();
        maxBytes = 1 << 18;
        limits = new SafetyLimits(Duration.ofSeconds(60), Duration.ofSeconds(30), 0);
        start();
        node.setSnapshot(host().devices(2).with(environments(1)).with(process(7).uses(0)));
        for (var cycle = 0; cycle < 6; cycle++) {
            cycle();
        }
        var id = only().id();
        restart();
        for (var cycle = 0; cycle < 6; cycle++) {
            cycle();
        }
        assertThat(only().id()).isEqualTo(id);
        assertThat(node.executed).isEmpty();
        cycle();
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void historyIsSavedAgainWhenItIsSmall() throws IOException {
        stop();
        maxBytes = 1 << 20;
        limits = new SafetyLimits(Duration.ofSeconds(60), Duration.ofSeconds(30), 0);
        start();
        node.setSnapshot(host().devices(2).with(environments(1)).with(process(7).uses(0)));
        cycle();
        node.setSnapshot(STRAY);
        time.pass(Duration.ofHours(2));
        for (var cycle = 0; cycle < 5; cycle++) {
            cycle();
        }
        restart();
        for (var cycle = 0; cycle < 3; cycle++) {
            cycle();
        }
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void eventsOfCyclesThatCouldNotBeWrittenAreWrittenLater() throws IOException {
        stop();
        directory = Files.createDirectory(directory.resolve("displaced"));
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
        start();
        for (var file : segmentsAndLocks()) {
            Files.delete(file);
        }
        Files.delete(directory);
        node.setSnapshot(STRAY);
        cycle();
        node.setSnapshot(host().devices(2));
        cycle();
        var before = events.after(0, 100).events();
        assertThat(before).hasSizeGreaterThan(4);
        Files.createDirectory(directory);
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
        cycle();
        cycle();
        assertThat(problems()).isEmpty();
        restart();
        assertThat(events.after(0, 100).events()).containsSubsequence(before);
    }

    @Test
    void aJournalOfAnotherRunThatIsMovedIntoTheFolderStaysAsItIs() throws IOException {
        for (var round = 0; round < 3; round++) {
            node.setSnapshot(STRAY);
            cycle();
            node.setSnapshot(host().devices(2));
            cycle();
        }
        var others = events.after(0, 100).events();
        stop();
        var folder = directory;
        directory = Files.createDirectory(folder.resolve("mine"));
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
        start();
        cycle();
        assertThat(events.latest()).isLessThan(others.getLast().sequence());
        for (var file : segmentsAndLocks()) {
            Files.delete(file);
        }
        try (var files = Files.newDirectoryStream(folder, Files::isRegularFile)) {
            for (var file : files) {
                Files.copy(file, directory.resolve(file.getFileName()), StandardCopyOption.COPY_ATTRIBUTES);
            }
        }
        cycle();
        cycle();
        assertThat(problems()).containsExactly(ProblemCode.JOURNAL_UNWRITABLE);
        restart();
        assertThat(events.after(0, 100).events()).containsSubsequence(others);
    }

    @Test
    void eventsOfACycleThatIsNotCompleteAreCutOff() throws IOException {
        cycle();
        var complete = events.latest();
        node.setSnapshot(STRAY);
        cycle();
        var lost = events.after(complete, 10).events();
        assertThat(lost).isNotEmpty();
        stop();
        var state = segments().getLast();
        var bytes = Files.readAllBytes(state);
        Files.write(state, Arrays.copyOf(bytes, bytes.length - 10));
        start();
        cycle();
        assertThat(recorded()).doesNotContainAnyElementsOf(lost);
        assertThat(recorded())
                .extracting(Event::sequence)
                .doesNotHaveDuplicates()
                .isSorted();
        assertThat(recorded())
                .extracting(Event::content)
                .filteredOn(EventContent.ViolationOpened.class::isInstance)
                .as("the violation that is continued")
                .hasSize(1);
    }

    private List<Event> recorded() {
        return events.after(0, 1_000).events();
    }

    private List<Path> segmentsAndLocks() throws IOException {
        try (var files = Files.list(directory)) {
            return files.toList();
        }
    }

    private long bytes() throws IOException {
        return segments().stream().mapToLong(file -> file.toFile().length()).sum();
    }

    private static EnvBuilder[] environments(int cycle) {
        return IntStream.range(0, ENVIRONMENTS)
                .mapToObj(number -> env("%d-%d".formatted(cycle, number)).attached(1))
                .toArray(EnvBuilder[]::new);
    }
}
