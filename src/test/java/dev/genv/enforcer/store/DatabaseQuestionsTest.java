package dev.genv.enforcer.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The questions of an administrator on the page about operation, with the schema of the service. */
class DatabaseQuestionsTest {
    private static final Path PAGE = Path.of("src/site/markdown/operate.md");
    private static final Pattern COMMAND =
            Pattern.compile("(?m)^sqlite3 -readonly /var/lib/genv-enforcer/enforcer\\.db \"([^\"$`\\\\!]+)\"$");
    private final Instant now = Instant.now();
    private static final Duration HOUR = Duration.ofHours(1);

    private Connection database;
    private List<String> questions;

    @BeforeEach
    void createTables() throws IOException, SQLException {
        database = DriverManager.getConnection("jdbc:sqlite::memory:");
        try (var in = Objects.requireNonNull(Database.class.getResourceAsStream("schema-1.sql"));
                var statement = database.createStatement()) {
            for (var sql : new String(in.readAllBytes(), StandardCharsets.UTF_8).split(";\n\n", -1)) {
                statement.executeUpdate(sql);
            }
        }
        questions = COMMAND.matcher(Files.readString(PAGE))
                .results()
                .map((MatchResult command) -> command.group(1))
                .toList();
        assertThat(questions).hasSize(5);
    }

    @AfterEach
    void close() throws SQLException {
        database.close();
    }

    @Test
    void whoLostProcessesThisWeek() throws SQLException {
        terminate("raz", "gpu-1", 812, "TERM", "signalled", now.minus(Duration.ofDays(6)));
        terminate("raz", "gpu-1", 812, "KILL", "signalled", now.minus(Duration.ofDays(6)));
        terminate("raz", "gpu-2", 812, "TERM", "signalled", now);
        terminate("ann", "gpu-1", 813, "TERM", "signalled", now);
        terminate("bob", "gpu-1", 814, "TERM", "denied", now);
        terminate("bob", "gpu-1", 815, "TERM", "perhaps", now);
        terminate("bob", "gpu-1", 816, "TERM", "signalled", now.minus(Duration.ofDays(8)));

        assertThat(ask(0)).containsExactly("raz|2|python", "ann|1|python");
    }

    @Test
    void howManyDeviceHoursUsersHeldThisMonth() throws SQLException {
        var month = now.atZone(ZoneOffset.UTC)
                .truncatedTo(ChronoUnit.DAYS)
                .withDayOfMonth(1)
                .toInstant();
        use("raz", "gpu-1", month, HOUR.multipliedBy(4), HOUR.multipliedBy(3));
        use("raz", "gpu-2", month, HOUR, Duration.ZERO);
        use("ann", "gpu-1", month, Duration.ofMinutes(90), Duration.ofMinutes(90));
        use("raz", "gpu-1", month.minus(HOUR), HOUR, HOUR);

        assertThat(ask(1)).containsExactly("raz|5.0|3.0", "ann|1.5|1.5");
    }

    @Test
    void whoHeldIdleDevices() throws SQLException {
        var hour = now.truncatedTo(ChronoUnit.HOURS);
        use("raz", "gpu-1", hour, HOUR.multipliedBy(4), HOUR);
        use("raz", "gpu-1", hour.minus(Duration.ofDays(8)), HOUR, Duration.ZERO);
        use("ann", "gpu-1", hour, HOUR, HOUR);
        use("bob", "gpu-1", hour.minus(Duration.ofDays(6)), HOUR, Duration.ZERO);

        assertThat(ask(2)).containsExactly("raz|3.0|75.0", "bob|1.0|100.0");
    }

    @Test
    void howManyViolationsBeganOnEachDay() throws SQLException {
        violate("1", "env-memory", "raz", Instant.parse("2026-11-21T23:59:59.999Z"));
        violate("2", "env-memory", "raz", Instant.parse("2026-11-22T00:00:00Z"));
        violate("3", "env-memory", "ann", Instant.parse("2026-11-22T12:00:00Z"));
        violate("4", "env-devices", "ann", Instant.parse("2026-11-22T13:00:00Z"));

        assertThat(ask(3))
                .containsExactly(
                        "2026-11-22|env-devices|1|1", "2026-11-22|env-memory|2|2", "2026-11-21|env-memory|1|1");
    }

    @Test
    void whatTheLastTenActionsWere() throws SQLException {
        for (var pid = 1; pid <= 11; pid++) {
            terminate("raz", "gpu-1", pid, "TERM", "signalled", Instant.parse("2026-11-22T00:00:00Z"));
        }
        insert(
                "action (at, host, type, outcome, detail, user, environment, devices, rules, bytes)",
                Instant.parse("2026-11-22T01:00:00Z").toEpochMilli(),
                "gpu-1",
                "detach",
                "failed",
                "the lock is held",
                "ann",
                "4711",
                "[3]",
                "[]",
                1);

        assertThat(ask(4))
                .hasSize(10)
                .startsWith(
                        "2026-11-22 01:00:00|gpu-1|detach||ann||[3]|failed|the lock is held",
                        "2026-11-22 00:00:00|gpu-1|terminate|TERM|raz|11|[0]|signalled|");
    }

    private void terminate(String user, String host, int pid, String signal, String outcome, Instant at)
            throws SQLException {
        insert(
                "action (at, host, type, outcome, user, devices, pid, start_time, command, signal, rules, bytes)",
                at.toEpochMilli(),
                host,
                "terminate",
                outcome,
                user,
                "[0]",
                pid,
                pid * 10,
                "python",
                signal,
                "[]",
                1);
    }

    /** The device time that was held and not used is idle. */
    private void use(String user, String host, Instant hour, Duration held, Duration used) throws SQLException {
        insert(
                "usage (hour, host, user, held, used, idle)",
                hour.toEpochMilli(),
                host,
                user,
                held.toMillis(),
                used.toMillis(),
                held.minus(used).toMillis());
    }

    private void violate(String id, String rule, String user, Instant first) throws SQLException {
        insert(
                "violation (id, number, rule, mode, host, user, message, first_seen, last_seen, cycle, entry, bytes)",
                id,
                1,
                rule,
                "enforce",
                "gpu-1",
                user,
                "a message",
                first.toEpochMilli(),
                first.toEpochMilli(),
                1,
                "{}",
                1);
    }

    private void insert(String table, Object... values) throws SQLException {
        var places = "?" + ", ?".repeat(values.length - 1);
        try (var statement = database.prepareStatement("INSERT INTO %s VALUES (%s)".formatted(table, places))) {
            for (var i = 0; i < values.length; i++) {
                statement.setObject(i + 1, values[i]);
            }
            statement.executeUpdate();
        }
    }

    /** Returns the rows as the sqlite3 command prints them. */
    private List<String> ask(int question) throws SQLException {
        var rows = new ArrayList<String>();
        try (var statement = database.createStatement();
                var result = statement.executeQuery(questions.get(question))) {
            while (result.next()) {
                var row = new StringJoiner("|");
                for (var column = 1; column <= result.getMetaData().getColumnCount(); column++) {
                    row.add(Objects.requireNonNullElse(result.getString(column), ""));
                }
                rows.add(row.toString());
            }
        }
        return rows;
    }
}
