package dev.genv.enforcer.api.report;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.genv.enforcer.api.query.QueryParameters.Period;
import dev.genv.enforcer.api.report.ReportView.HostHours;
import dev.genv.enforcer.api.report.ReportView.RuleCounts;
import dev.genv.enforcer.api.report.ReportView.Table;
import dev.genv.enforcer.api.report.ReportView.TimelineEntry;
import dev.genv.enforcer.api.report.ReportView.UserHours;
import dev.genv.enforcer.api.report.ReportView.UserTotals;
import dev.genv.enforcer.recording.RecordedPast;
import dev.genv.enforcer.store.Database;
import dev.genv.enforcer.store.Sql;
import dev.genv.enforcer.store.StoreException;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReportQueriesTest {
    private static final Instant NOON = Instant.parse("2026-11-20T12:00:00Z");
    private static final long HOUR = 3_600_000;

    private final Database database = new Database(new Database.Config(Optional.empty(), 16 << 20));

    @AfterEach
    void close() {
        database.close();
    }

    @Test
    void emptyDatabaseGivesAnEmptyReport() throws StoreException {
        var report = report(Instant.EPOCH, Instant.parse("9999-12-31T23:59:59Z"));

        assertThat(report.recordedSince()).isNull();
        assertThat(report.eventsRecordedSince()).isNull();
        assertThat(report.complete()).isTrue();
        assertThat(report.hosts()).isEmpty();
        assertThat(report.timeline()).isEmpty();
    }

    @Test
    void everyHourThatOverlapsThePeriodCounts() throws StoreException {
        for (var hour = -100; hour < 100; hour++) {
            hour(hour, "raz", 4 * HOUR, 3 * HOUR, HOUR, HOUR, 3 * HOUR);
        }
        hour(0, "", HOUR, 0, 0, 0, HOUR);

        var report = report(NOON.plusSeconds(1800), NOON.plus(Duration.ofDays(3)));

        assertThat(report.hosts()).containsExactly(new HostHours("gpu-1", 73.0));
        assertThat(report.usage())
                .containsExactly(
                        new UserHours("raz", "gpu-1", 292, 219, 73, 73, 219, 73),
                        new UserHours(null, "gpu-1", 1, 0, 0, 0, 1, 0));
    }

    @Test
    void countsViolationsAndActionsByUserAndRule() throws StoreException {
        violation("1", "env-devices", "raz", NOON);
        violation("2", "env-memory", "raz", NOON.plusSeconds(1));
        violation("3", "env-memory", "", NOON.minusSeconds(1));
        hour(0, "raz", 2 * HOUR, HOUR, HOUR, 0, HOUR);
        action("terminate", "signalled", "TERM", "raz", "[\"env-devices\",\"env-memory\"]");
        action("terminate", "signalled", "KILL", "raz", "[\"env-devices\"]");
        action("terminate", "perhaps", "TERM", "raz", "[\"env-devices\"]");
        action("detach", "detached", null, "alice", "[\"max-devices-per-user\"]");
        action("detach", "failed", null, "alice", "[\"max-devices-per-user\"]");

        var report = report(NOON, NOON.plusSeconds(60));

        assertThat(report.users())
                .containsExactly(
                        new UserTotals("alice", 0, 0, 0, 0, 0, 0, 0, 0, 1),
                        new UserTotals("raz", 2, 1, 1, 0, 1, 0, 2, 1, 0));
        assertThat(report.rules())
                .containsExactly(
                        new RuleCounts("alice", "max-devices-per-user", 0, 0, 1),
                        new RuleCounts("raz", "env-devices", 1, 1, 0),
                        new RuleCounts("raz", "env-memory", 1, 1, 0));
    }

    @Test
    void timelineHasTwentyFourParts() throws StoreException {
        violation("1", "env-devices", "raz", NOON);
        violation("2", "env-devices", "raz", NOON.plusSeconds(3_599));
        violation("3", "env-memory", "raz", NOON.plus(Duration.ofDays(1)));

        assertThat(report(NOON, NOON.plus(Duration.ofDays(1))).timeline())
                .containsExactly(
                        new TimelineEntry(NOON, "env-devices", 2),
                        new TimelineEntry(NOON.plus(Duration.ofHours(23)), "env-memory", 1));
        assertThat(report(NOON, NOON).timeline()).containsExactly(new TimelineEntry(NOON, "env-devices", 1));
    }

    @Test
    void mailHasALineForEachUserTheMostIdleFirst() throws StoreException {
        hour(0, "alice", HOUR, HOUR, HOUR, 0, 0);
        hour(0, "raz", 3 * HOUR, HOUR, 0, HOUR, 3 * HOUR);
        hour(0, "\u202eevil\nname", HOUR, 0, 0, 0, HOUR);
        violation("1", "env-memory", "raz", NOON);
        action("terminate", "signalled", "TERM", "raz", "[\"env-memory\"]");
        var begin = NOON.atZone(ZoneId.of("Europe/Berlin"));

        var text = WeeklyReport.text(database, begin, begin.plusWeeks(1));

        assertThat(text.lines().filter(line -> !line.startsWith("From"))).allMatch(line -> line.length() <= 78);
        assertThat(text.lines().map(line -> line.replaceAll(" +", " ")))
                .containsSequence(
                        "user held unattached used unknown idle idle %",
                        "raz 3.0 1.0 0.0 1.0 3.0 75",
                        "\\u202eevil\\u000aname 1.0 0.0 0.0 0.0 1.0 100",
                        "alice 1.0 0.0 1.0 0.0 0.0 0")
                .containsSequence("user rule violations SIGTERM detached", "raz env-memory 1 1 0")
                .contains(
                        "From Friday, 20 November 2026, 13:00 to Friday, 27 November 2026, 13:00 (Europe/Berlin).",
                        "gpu-1 was observed for 1.0 of 168 hours.");
    }

    @Test
    void saysSinceWhenItIsRecordedAndWhatIsLost() throws StoreException {
        var later = NOON.plusSeconds(60);
        update("INSERT INTO event VALUES (1, ?, 'x', 'gpu-1', '', 1, '')", later.toEpochMilli());
        update("INSERT INTO meta VALUES ('damaged', ?)", Long.toString(later.toEpochMilli()));

        assertThat(report(NOON, NOON).recordedSince()).isNull();
        assertThat(report(NOON, NOON).eventsRecordedSince()).isEqualTo(later);
        assertThat(report(NOON, NOON).complete()).isFalse();
        assertThat(report(later, later).complete()).isTrue();
        hour(0, "raz", HOUR, 0, 0, 0, HOUR);
        assertThat(report(NOON, NOON).recordedSince()).isEqualTo(NOON);
        hour(-9, "raz", HOUR, 0, 0, 0, HOUR);
        assertThat(report(NOON, NOON).recordedSince()).isEqualTo(NOON.minus(Duration.ofHours(9)));
    }

    @Test
    void namesAboveTheLargestNumberCountForNobody() throws StoreException {
        for (var number = 0; number < 5; number++) {
            update(
                    "INSERT INTO usage WITH RECURSIVE each(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM each"
                            + " WHERE value < 2001) SELECT ?, 'gpu-1', ? || value, 3600000, 0, 3600000, 0, 0 FROM each",
                    NOON.toEpochMilli(),
                    number + "-");
        }
        hour(0, "raz", HOUR, 0, 0, 0, HOUR);

        var usage = report(NOON, NOON).usage();

        assertThat(usage).hasSize(ReportQueries.MAX_ROWS + 1);
        assertThat(usage.getLast()).isEqualTo(new UserHours(null, "gpu-1", 6, 0, 0, 0, 6, 0));
    }

    @Test
    void eachTableIsACsvFile() {
        var report = report(
                List.of(new HostHours("gpu-1", 24.5), new HostHours("gpu-2", 12)),
                new UserHours("raz", "gpu-1", 12.25, 4, 3, 0, 9.25, 0),
                List.of(new RuleCounts(null, "env-memory", 3, 2, 1)));

        assertThat(Table.USAGE.write(report)).isEqualTo("""
            user,host,observed_hours,held_device_hours,present_device_hours,used_device_hours,unknown_device_hours,\
            idle_device_hours,unattached_device_hours
            "raz","gpu-1",24.5,12.25,4.0,3.0,0.0,9.25,0.0
            ,"gpu-2",12.0,,,,,,
            """.replace("\n", "\r\n"));
        assertThat(Table.VIOLATIONS.write(report))
                .isEqualTo("user,rule,violations,terminations,detachments\r\n,\"env-memory\",3,2,1\r\n");
    }

    /** The first column is what a user wrote, and the second one the field without its outer quotes. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        =1+1 | '=1+1
        +1 | '+1
        -1 | '-1
        @SUM(A1) | '@SUM(A1)
        a=1 | a=1
        a,b | a,b
        a"b | a""b
        "=1 | ""=1
        CORP\\anna | CORP\\anna
        \\u00e9 | \\u00e9
        first.last@corp.example | first.last@corp.example
        é\u202e | é\\u202e
        \ud83d\ude00 | \ud83d\ude00
        `a\r\n=1` | a\\u000d\\u000a=1
        `\t=1` | '\\u0009=1
        `\r=1` | '\\u000d=1
        """)
    void textOfUsersIsNeitherAFormulaNorAControlCharacterNorLong(String name, String field) {
        assertThat(row(name)).isEqualTo("\"" + field + "\",\"h\",,0.0,0.0,0.0,0.0,0.0,0.0");
        assertThat(row("x".repeat(5_000))).hasSizeLessThan(200);
    }

    private static String row(String user) {
        return Table.USAGE
                .write(report(List.of(), new UserHours(user, "h", 0, 0, 0, 0, 0, 0), List.of()))
                .lines()
                .skip(1)
                .findFirst()
                .orElseThrow();
    }

    private static ReportView report(List<HostHours> hosts, UserHours user, List<RuleCounts> rules) {
        return new ReportView(
                Instant.EPOCH, Instant.EPOCH, null, null, true, hosts, List.of(user), List.of(), rules, List.of());
    }

    private void hour(int number, String user, long held, long present, long used, long unknown, long idle)
            throws StoreException {
        var hour = NOON.toEpochMilli() + number * HOUR;
        update(
                "INSERT INTO usage (hour, host, user, held, present, used, unknown, idle) VALUES (?, 'gpu-1', ?, ?, ?,"
                        + " ?, ?, ?)",
                hour,
                user,
                held,
                present,
                used,
                unknown,
                idle);
        update("INSERT OR REPLACE INTO observed VALUES (?, 'gpu-1', ?)", hour, HOUR);
    }

    private void violation(String id, String rule, String user, Instant at) throws StoreException {
        update(
                "INSERT INTO violation (id, number, rule, mode, host, user, message, first_seen, last_seen, cycle,"
                        + " entry, bytes) VALUES (?, 1, ?, 'enforce', 'gpu-1', ?, '', ?, 0, 0, '', 1)",
                id,
                rule,
                user,
                at.toEpochMilli());
    }

    private void action(String type, String outcome, @Nullable String signal, String user, String rules)
            throws StoreException {
        update(
                "INSERT INTO action (at, host, type, outcome, user, devices, signal, rules, bytes)"
                        + " VALUES (?, 'gpu-1', ?, ?, ?, '[]', ?, ?, 1)",
                NOON.toEpochMilli(),
                type,
                outcome,
                user,
                signal,
                rules);
    }

    private void update(String sql, @Nullable Object... values) throws StoreException {
        database.call(connection -> {
            new Sql(connection).update(sql, values);
            return true;
        });
    }

    private ReportView report(Instant from, Instant to) throws StoreException {
        return new ReportQueries(database, new Period(from, to)).read();
    }

    // The hours of a day, against a count of its own from what the cycles observed.

    private static final Map<String, Long> USERS = Map.of("alice", 1001L, "raz", 1003L, "paul", 1004L);
    private static final int DEVICES = 3;
    private static final int CYCLES = 24 * 360;
    /** What is observed changes every quarter of an hour. */
    private static final int UNCHANGED = 90;

    private static final List<String> COLUMNS = List.of("held", "present", "used", "unknown", "idle", "unattached");

    private final Random random = new Random(29);
    private final List<Hold> holds = new ArrayList<>();
    private final List<Hold> processes = new ArrayList<>();
    private final @Nullable Integer[] utilization = new @Nullable Integer[DEVICES];
    private final Map<String, Integer> expected = new HashMap<>();
    /** The device that the GPU tool does not list. */
    private int unlisted;

    private record Hold(String user, int device) {
        long uid() {
            return USERS.getOrDefault(user, 0L);
        }
    }

    @Test
    void hoursOfADayAreThoseOfItsObservations() throws Exception {
        try (var past = new RecordedPast(database, RecordedPast.BEGIN)) {
            for (var cycle = 0; cycle < CYCLES; cycle += UNCHANGED) {
                change();
                var observed = observed().snapshot();
                for (var same = 0; same < UNCHANGED; same++) {
                    past.cycle(observed);
                }
                count();
            }
            // Until then, the last one counts. In a new hour, the last one is written.
            past.cycle(observed().snapshot());
            var end = RecordedPast.BEGIN.plus(Duration.ofDays(1)).minusMillis(1);
            check(report(RecordedPast.BEGIN, end));
        }
    }

    private void check(ReportView report) {
        for (var row : report.usage()) {
            var hours = List.of(
                    row.heldDeviceHours(),
                    row.presentDeviceHours(),
                    row.usedDeviceHours(),
                    row.unknownDeviceHours(),
                    row.idleDeviceHours(),
                    row.unattachedDeviceHours());
            for (var column = 0; column < hours.size(); column++) {
                var key = row.user() + " " + COLUMNS.get(column);
                assertThat(hours.get(column)).as(key).isCloseTo(expected.getOrDefault(key, 0) / 360.0, within(1e-4));
            }
            assertThat(row.heldDeviceHours() + row.unattachedDeviceHours())
                    .isCloseTo(row.usedDeviceHours() + row.unknownDeviceHours() + row.idleDeviceHours(), within(5e-4));
        }
        assertThat(report.usage()).extracting(ReportView.UserHours::user).containsExactly("alice", "paul", "raz", null);
        assertThat(report.users()).hasSameSizeAs(report.usage());
    }

    private void change() {
        holds.clear();
        processes.clear();
        for (var user : USERS.keySet()) {
            for (var device = 0; device < DEVICES; device++) {
                if (random.nextInt(3) == 0) {
                    holds.add(new Hold(user, device));
                }
                if (random.nextInt(3) == 0) {
                    processes.add(new Hold(user, device));
                }
            }
        }
        for (var device = 0; device < DEVICES; device++) {
            unlisted = random.nextInt(2 * DEVICES);
            utilization[device] = random.nextInt(3) == 0 ? null : Integer.valueOf(random.nextInt(2) * 50);
        }
    }

    /** A device of two environments of a user counts once, a disputed environment for nobody, and a protected program not at all. */
    private HostBuilder observed() {
        var node = host("here")
                .devices(DEVICES)
                .unlisted(unlisted)
                .utilization(utilization)
                .subordinate(1001, 100_000, 65_536)
                .with("env x disputed on 0", "process 1 uid 0 on 1 immune");
        USERS.forEach((user, uid) -> node.with(env(user).user(user).uid(uid).account()));
        for (var hold : holds) {
            for (var number = 0; number < 2; number++) {
                node.with(env(hold.user + hold.device + number)
                        .user(hold.user)
                        .uid(hold.uid())
                        .attached(hold.device));
            }
        }
        for (var process : processes) {
            var its =
                    process(10 * (int) (process.uid() - 1000) + process.device).uses(process.device);
            node.with(
                    switch (process.user) {
                        case "alice" -> its.uid(100_033); // a subordinate one
                        case "paul" -> its.uid(0).account("root").inEnvironment("paul");
                        default -> its.uid(process.uid()).account(process.user);
                    });
        }
        return node;
    }

    private void count() {
        add(null, "held", unlisted != 0);
        add(null, "idle", unlisted != 0);
        for (var user : USERS.keySet()) {
            for (var device = 0; device < DEVICES; device++) {
                var isHeld = device != unlisted && holds.contains(new Hold(user, device));
                var isPresent = processes.contains(new Hold(user, device));
                var percent = utilization[device];
                add(user, "held", isHeld);
                add(user, "present", isPresent);
                add(user, "used", isPresent && percent != null && percent > 0);
                add(user, "unknown", isPresent && percent == null);
                add(user, "idle", isPresent ? percent != null && percent == 0 : isHeld);
                add(user, "unattached", isPresent && !isHeld);
            }
        }
    }

    private void add(@Nullable String user, String column, boolean counts) {
        if (counts) {
            expected.merge(user + " " + column, UNCHANGED, Integer::sum);
        }
    }
}
