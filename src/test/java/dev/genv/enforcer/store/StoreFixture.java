package dev.genv.enforcer.store;

import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.DeliveryCursors;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.EventLog;
import dev.genv.enforcer.enforcement.report.Store;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.TestTimeouts;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.Records;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A service with a database that is stopped and started again. */
abstract class StoreFixture {
    static final Duration INTERVAL = Duration.ofSeconds(10);

    @TempDir
    Path directory;

    FakeTime time = new FakeTime();
    FakeHost node = new FakeHost(host().devices(2));
    /** Other machines. */
    List<FakeHost> others = List.of();

    Limits devicesPerUser = new Limits(2, Map.of());
    /** The time since the boot of the machine when the service starts. */
    long ticks = 1_000;

    SafetyLimits limits = new SafetyLimits(Duration.ZERO, Duration.ofSeconds(30), 0);
    ServiceMode mode = ServiceMode.ENFORCE;
    String processes = "boot 1";
    long maxBytes = 64 << 20;

    Map<RuleDefinition, RuleMode> rules = Map.of(
            KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE,
            KnownRules.ENV_DEVICES, RuleMode.ENFORCE);

    ViolationRegistry registry;
    EventLog events;
    DeliveryCursors deliveries;
    Database database;
    Enforcer enforcer;
    /** The problems of the last cycle. */
    List<ProblemCode> problems = List.of();

    @BeforeEach
    void start() throws IOException {
        start(new Database(
                new Database.Config(Optional.of(directory), maxBytes), TestTimeouts.HANG, TestTimeouts.HANG));
    }

    final void start(Database opened) {
        database = opened;
        var store = watched(new DatabaseStore(
                opened, processes, Enforcer.savedKinds(), new Retention(maxBytes, Duration.ofDays(90))));
        registry = new ViolationRegistry(100);
        events = new EventLog();
        var config = policy(EnforcerConfigBuilder.enforcerConfig(this::hosts))
                .remote(!others.isEmpty())
                .mode(mode)
                .interval(INTERVAL)
                .safetyLimits(limits)
                .build();
        var records = new Records(registry, events, store, List.of(new EventContent.ServiceStarted("1", "enforce")));
        deliveries = records.deliveries();
        enforcer = EnforcerFactory.create(config, records, advancingTicker(), List.of());
    }

    /** Sets the policy of the service. */
    EnforcerConfigBuilder policy(EnforcerConfigBuilder config) {
        return config.rules(rules, devicesPerUser);
    }

    private List<Host> hosts() {
        return Stream.concat(Stream.of(node), others.stream())
                .map(Host.class::cast)
                .toList();
    }

    Store watched(Store store) {
        return store;
    }

    /** The monotonic clock advances with every reading, as a real one does. */
    private Ticker advancingTicker() {
        var readings = new AtomicLong();
        var ticker = time.ticker();
        return new Ticker(ticker.wall(), () -> ticker.mark() + readings.incrementAndGet());
    }

    @AfterEach
    final void stop() {
        database.close();
    }

    /** Starts the service again; this takes no time. */
    final void restart() throws IOException {
        stop();
        start();
    }

    final CycleReport cycle() {
        time.pass(INTERVAL);
        Stream.concat(Stream.of(node), others.stream())
                .forEach(host -> host.setTicks(ticks + time.passed().toMillis() / 10));
        var report = enforcer.runCycle().orElseThrow();
        problems = report.fleet().snapshots().getFirst().problems().stream()
                .map(Problem::code)
                .toList();
        return report;
    }

    /** The service is killed between a signal and the end of its cycle. */
    final void cycleThatIsKilledAfterTheSignal() {
        node.answerWith(_ -> {
            stop();
            return Result.of(Outcome.SIGNALLED);
        });
        cycle();
        node.answerWith(_ -> Result.of(Outcome.SIGNALLED));
    }

    final ViolationRecord only() {
        var all = registry.find(entry -> true, 10);
        if (all.size() != 1) {
            throw new AssertionError("not one violation: " + all);
        }
        return all.getFirst();
    }

    /** Returns the first number that a query of the database of a stopped service finds. */
    final long query(String sql) throws Exception {
        try (var connection = DriverManager.getConnection("jdbc:sqlite:" + directory.resolve(DataFolder.DATABASE));
                var statement = connection.createStatement();
                var rows = statement.execute(sql) ? statement.getResultSet() : null) {
            return rows != null && rows.next() ? rows.getLong(1) : -1;
        }
    }
}
