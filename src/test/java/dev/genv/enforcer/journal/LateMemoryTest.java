package dev.genv.enforcer.journal;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.journal.segment.FileNames;
import dev.genv.enforcer.journal.segment.JournalDirectory;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Action.Signal;
import dev.genv.enforcer.testsupport.TestTimeouts;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A journal that cannot be read at once when the service starts. */
class LateMemoryTest extends JournalFixture {
    private static final HostBuilder STRAY = host().devices(2).with(process(7).uses(0));
    private static final HostBuilder NOTHING = host().devices(2);
    private static final Set<Thread.State> WAITS = Set.of(Thread.State.TIMED_WAITING, Thread.State.TERMINATED);

    private final List<DiskJournal> earlier = new ArrayList<>();

    @AfterEach
    void stopTheEarlierService() {
        earlier.forEach(DiskJournal::close);
    }

    @Test
    void theStartWaitsUntilTheEarlierServiceHasStopped() throws Exception {
        node.setSnapshot(STRAY);
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
        assertThat(signals()).containsExactly(Signal.TERM);
    }

    @Test
    void aProcessThatTheEarlierServiceSignalledIsPossiblySignalled() throws IOException {
        node.setSnapshot(STRAY);
        cycle();
        startWhileTheJournalIsLocked();
        stopTheEarlierService();
        cycle(); // opens the journal at its end
        node.setSnapshot(STRAY);
        cycle();
        cycle();
        assertThat(problems())
                .as("the events before the journal was read are not in it")
                .containsExactly(ProblemCode.JOURNAL_UNWRITABLE);
        assertThat(signals()).containsExactly(Signal.TERM);
        for (var cycle = 0; cycle < 3; cycle++) {
            cycle();
        }
        assertThat(signals()).as("no SIGKILL").containsExactly(Signal.TERM, Signal.TERM);
        assertThat(problems()).isEmpty();
    }

    @Test
    void anActionWithoutAResultIsPossiblyExecuted() throws IOException {
        node.setSnapshot(STRAY).answerWith(_ -> {
            stop(); // the service is killed after the signal
            return Result.of(Outcome.SIGNALLED);
        });
        cycle();
        node.answerWith(_ -> Result.of(Outcome.SIGNALLED));
        start();
        startWhileTheJournalIsLocked();
        stopTheEarlierService();
        cycle();
        node.setSnapshot(STRAY);
        cycle();
        assertThat(signals()).containsExactly(Signal.TERM);
        assertThat(only().actions())
                .singleElement()
                .satisfies(note -> assertThat(note.detail()).contains("it may have been executed"));
    }

    @Test
    void theMemoryIsNotReplacedBeforeItIsTakenOver() throws IOException {
        node.setSnapshot(STRAY);
        cycle();
        startWhileTheJournalIsLocked();
        stopTheEarlierService();
        cycle(); // opens the journal
        restart();
        node.setSnapshot(STRAY);
        cycle();
        assertThat(signals()).containsExactly(Signal.TERM);
    }

    @Test
    void newIntentsGetHigherNumbers() throws IOException {
        node.setSnapshot(STRAY);
        cycle();
        startWhileTheJournalIsLocked();
        stopTheEarlierService();
        cycle();
        var another = process(8).uses(1);
        node.setSnapshot(host().devices(2).with(another)).answerWith(_ -> {
            stop();
            return Result.of(Outcome.SIGNALLED);
        });
        cycle();
        var intents = Files.readAllLines(segments().getLast()).stream()
                .filter(line -> line.contains("\"type\":\"intent\""))
                .map(line -> line.replaceAll(".*\"key\":\\{\"id\":(\\d+)}.*", "$1"))
                .toList();
        assertThat(intents).as("the first cycle began a segment").containsExactly("2");
    }

    @Test
    void theLastSegmentIsReadFirst() throws IOException {
        maxBytes = 8 * (64 << 10);
        restart();
        for (var cycle = 0; segments().size() < 3; cycle++) {
            node.setSnapshot(host().devices(2).with(process(100 + cycle).uses(1)));
            cycle();
        }
        stop();
        try (var opened = JournalDirectory.open(directory, FileNames.JOURNAL);
                var events = JournalDirectory.open(directory, FileNames.EVENTS)) {
            var reading = new JournalReading(opened, config());
            var first = reading.readMemory();
            assertThat(first.memory()).isPresent();
            assertThat(first.events()).isEmpty();
            assertThat(reading.readEvents(events).restored().events()).isNotEmpty();
        }
        start();
    }

    private void startWhileTheJournalIsLocked() throws IOException {
        earlier.add(journal);
        startLimit = NO_TIME;
        start();
        startLimit = TestTimeouts.HANG;
        await().until(() -> !journal.problems().isEmpty());
        node.setSnapshot(NOTHING);
        cycle();
        assertThat(problems()).containsExactly(ProblemCode.JOURNAL_LOCKED);
    }

    private List<Signal> signals() {
        return node.executed.stream()
                .map(action -> ((Action.Terminate) action).signal())
                .toList();
    }
}
