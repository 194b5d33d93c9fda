package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.Event;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.SavedState;
import dev.genv.enforcer.enforcement.report.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.report.Store.CycleCommit;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.recording.Recorder;
import dev.genv.enforcer.store.Database;
import dev.genv.enforcer.store.DatabaseStore;
import dev.genv.enforcer.store.Retention;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * A large past in a folder: ended violations, and hosts with 8 devices, 16 environments of 4 users and 8 processes, each of which is replaced
 * after an hour. There is a cycle every five minutes.
 */
final class LargePast implements AutoCloseable {
    /** Enough that nothing is deleted. */
    static final String MAX_SIZE = "32gi";

    private static final long MAX_BYTES = 32L << 30;
    private static final int EVENTS_OF_A_CYCLE = 1_000;
    private static final Duration INTERVAL = Duration.ofMinutes(5);
    private static final int DEVICES = 8;
    private static final int ENVIRONMENTS = 16;
    private static final int PROCESSES = 8;
    /** In cycles. */
    private static final int LIFETIME = 12;

    private static final int USERS = 4;

    private final Database database;
    private final Instant begin;
    private Duration passed = Duration.ZERO;

    LargePast(Path folder, Instant begin) {
        database = new Database(new Database.Config(Optional.of(folder), MAX_BYTES));
        this.begin = begin;
    }

    /** Adds events of as many violations, at equal distances until an instant. */
    void addEvents(int count, Instant end) {
        var store = new DatabaseStore(
                database, "boot", Enforcer.savedKinds(), new Retention(MAX_BYTES, Duration.ofDays(90)));
        store.restore();
        var distance = Duration.between(begin, end).dividedBy(count / EVENTS_OF_A_CYCLE + 1);
        for (var first = 1; first <= count; first += EVENTS_OF_A_CYCLE) {
            var at = begin.plus(distance.multipliedBy(first / EVENTS_OF_A_CYCLE));
            if (!store.commit(eventsFrom(first, at))) {
                throw new IllegalStateException("not stored: " + store.problems());
            }
        }
    }

    private static CycleCommit eventsFrom(int first, Instant at) {
        var events = new ArrayList<Event>();
        for (var number = first; number < first + EVENTS_OF_A_CYCLE; number++) {
            events.add(new Event(number, at, new EventContent.ViolationResolved(ended(number, at))));
        }
        var last = first + EVENTS_OF_A_CYCLE - 1;
        var cycle = new SavedCycle(first, first, Map.of("gpu-1", (long) first), first, last, at, at, last);
        return new CycleCommit(cycle, SavedState.EMPTY, List.of(), events, Map.of(), (_, _) -> Optional.empty());
    }

    private static ViolationRecord ended(int number, Instant at) {
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
        var begun = ViolationRecord.begin(
                violation, RuleMode.ENFORCE, at, new ViolationRecord.Recency(number, at), List.of());
        return new ViolationRecord(
                begun.id(),
                violation,
                begun.mode(),
                false,
                at,
                at,
                begun.cycles(),
                List.of(),
                begun.recency(),
                List.of());
    }

    /** Adds what hosts show for a time. */
    void addObservations(int hosts, Duration time) throws Exception {
        var ticker = new Ticker(() -> begin.plus(passed), () -> passed.toNanos());
        try (var recorder = new Recorder(database, INTERVAL, ticker)) {
            var snapshots = new Snapshot[hosts];
            for (var number = 0; number < time.dividedBy(INTERVAL); number++) {
                for (var host = 0; host < hosts; host++) {
                    if (snapshots[host] == null || isReplacing(host, number)) {
                        snapshots[host] = snapshot(host, number);
                    }
                }
                recorder.accept(cycle(snapshots));
                database.call(_ -> true); // waits until it is written
                passed = passed.plus(INTERVAL);
            }
        }
    }

    private CycleReport cycle(Snapshot... snapshots) {
        var at = begin.plus(passed);
        return new CycleReport(
                at,
                Duration.ZERO,
                CycleResult.SUCCESS,
                new Fleet(List.of(snapshots), true),
                Plan.EMPTY,
                List.of(),
                List.of(),
                null);
    }

    private static boolean isReplacing(int host, int cycle) {
        return IntStream.range(0, PROCESSES)
                .anyMatch(number -> job(host, number, cycle) > job(host, number, cycle - 1));
    }

    /** The number of processes that a process follows. */
    private static int job(int host, int number, int cycle) {
        return (cycle + host + number * LIFETIME / PROCESSES) / LIFETIME;
    }

    private static Snapshot snapshot(int host, int cycle) {
        var node = host("node-" + host).devices(DEVICES);
        for (var number = 0; number < ENVIRONMENTS; number++) {
            var user = (host * USERS + number % USERS) % (10 * USERS);
            node.with(env("6760" + number)
                    .user("user-" + user)
                    .uid(2000 + user)
                    .capacity("8gi")
                    .attached(number % DEVICES));
        }
        for (var number = 0; number < PROCESSES; number++) {
            var job = job(host, number, cycle);
            node.with(process(100_000 + number + job * PROCESSES)
                    .startedLaterBy(job * INTERVAL.toMillis() / 10 * LIFETIME)
                    .inEnvironment("6760" + number)
                    .uses(number % DEVICES, "4000mi"));
        }
        return node.snapshot();
    }

    @Override
    public void close() {
        database.close();
    }
}
