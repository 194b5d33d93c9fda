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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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

    /** Rows of the device hours of a month, of idle devices, of violations by day, and of the last ten actions. */
    @ParameterizedTest
    @CsvSource({
        "1, raz|5.0|3.0",
        "2, raz|2.0|40.0",
        "3, 2026-11-22|env-memory|1|1",
        "4, 2026-11-22 00:00:00|gpu-1|terminate|TERM|raz|11|[0]|signalled|"
    })
    void otherQuestionsHaveTheirRows(int question, String row) throws SQLException {
        var hour = now.truncatedTo(ChronoUnit.HOURS);
        use("raz", "gpu-1", hour, HOUR.multipliedBy(5), HOUR.multipliedBy(3));
        use("raz", "gpu-1", hour.minus(Duration.ofDays(32)), HOUR, Duration.ZERO);
        violate("1", "env-memory", "raz", Instant.parse("2026-11-22T00:00:00Z"));
        for (var pid = 1; pid <= 11; pid++) {
            terminate("raz", "gpu-1", pid, "TERM", "signalled", Instant.parse("2026-11-22T00:00:00Z"));
        }

        assertThat(ask(question)).hasSize(question == 4 ? 10 : 1).startsWith(row);
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
