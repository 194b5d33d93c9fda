package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.Journal.CycleCommit;
import dev.genv.enforcer.enforcement.record.Journal.Restored;
import dev.genv.enforcer.enforcement.record.SavedState;
import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.policy.Violation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** The time to read a journal back at the start of the service, with the garbage collector and the compiler of the image, and a small heap. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(
        value = 3,
        jvmArgsAppend = {"-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED"
        })
@Warmup(iterations = 0)
@Measurement(iterations = 1)
public class JournalBenchmark {
    private static final int EVENTS_OF_A_CYCLE = 1_000;

    /** The number of events. */
    @Param({"1000000"})
    public int events;

    private JournalConfig config;

    /** Writes the journal. */
    @Setup
    public void write() throws IOException {
        var directory = Files.createTempDirectory("journal");
        config = new JournalConfig(
                directory, new SegmentLimits(8L << 30, Duration.ofDays(90)), "boot", Enforcer.savedKinds());
        try (var journal = new DiskJournal(config, Duration.ofMinutes(1), Duration.ofMinutes(1))) {
            var _ = journal.takeRestored();
            for (var first = 1; first <= events; first += EVENTS_OF_A_CYCLE) {
                var _ = journal.commit(cycle(first));
            }
        }
    }

    private static CycleCommit cycle(int first) {
        var at = Instant.parse("2026-11-20T09:22:28Z").plusSeconds(first);
        var all = new ArrayList<Event>();
        for (var sequence = first; sequence < first + EVENTS_OF_A_CYCLE; sequence++) {
            all.add(new Event(sequence, at, new EventContent.ViolationResolved(violation(sequence, at))));
        }
        var cycle = new SavedCycle(
                first, first, Map.of("gpu-1", (long) first), first, first, at, at, 0, first + EVENTS_OF_A_CYCLE - 1);
        return new CycleCommit(all, cycle, SavedState.EMPTY, SavedState.EMPTY, SavedState.EMPTY);
    }

    private static ViolationRecord violation(int number, Instant at) {
        var process = new GpuProcess(
                new ProcessId(number % 32_768, number),
                1003L,
                "python",
                new Membership.InEnvironment("a"),
                List.of(new DeviceUsage(1, Memory.ofMebibytes(1_000))));
        var violation = new Violation(
                Rules.definitions().getFirst(),
                "gpu-1",
                "process %d %d".formatted(process.pid(), number),
                "Process %d is not running in a GPU environment".formatted(process.pid()),
                "raz",
                null,
                List.of(1),
                List.of(process));
        return ViolationRecord.begin(violation, RuleMode.ENFORCE, at, new ViolationRecord.Recency(number, at));
    }

    /** Opens and reads the journal, as the start of the service does. */
    @Benchmark
    public Restored read() {
        try (var journal = new DiskJournal(config, Duration.ofMinutes(1), Duration.ofMinutes(1))) {
            return journal.takeRestored().orElseThrow();
        }
    }

    /** Removes the journal. */
    @TearDown
    public void remove() throws IOException {
        try (var files = Files.walk(config.directory())) {
            for (var file : files.sorted(Comparator.reverseOrder()).toArray(Path[]::new)) {
                Files.delete(file);
            }
        }
    }
}
