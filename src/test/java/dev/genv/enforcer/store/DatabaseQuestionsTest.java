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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The questions of an administrator on the page about operation, with the schema of the service. */
class DatabaseQuestionsTest {
    private static final Path PAGE = Path.of("src/site/markdown/operate.md");
    private static final Pattern COMMAND =
            Pattern.compile("(?m)^sqlite3 -readonly /var/lib/genv-enforcer/enforcer\\.db \"([^\"$`\\\\!]+)\"$");
    private static final Instant EARLIER = Instant.parse("2026-11-22T00:00:00Z");
    private static final long HOUR = Duration.ofHours(1).toMillis();

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

    /** Who lost processes this week, device hours of a month, idle devices, violations by day, and the last ten actions. */
    @ParameterizedTest
    @CsvSource({
        "0, 2, raz|2|python",
        "1, 1, raz|5.0|3.0",
        "2, 1, raz|2.0|40.0",
        "3, 1, 2026-11-22|env-memory|1|1",
        "4, 10, 2026-11-22 00:00:00|gpu-1|terminate|TERM|raz|11|[0]|signalled|"
    })
    void questionHasItsRows(int question, int rows, String first) throws SQLException {
        var hour = Instant.now().truncatedTo(ChronoUnit.HOURS);
        use(hour, 5, 3);
        use(hour.minus(Duration.ofDays(32)), 1, 0);
        insert(
                "violation (id, number, rule, mode, host, user, message, first_seen, last_seen, cycle, entry, bytes)",
                "'1', 1, 'env-memory', 'enforce', 'gpu-1', 'raz', 'a message', %1$d, %1$d, 1, '{}', 1"
                        .formatted(EARLIER.toEpochMilli()));
        if (question == 4) {
            for (var pid = 1; pid <= 11; pid++) {
                terminate("raz", "gpu-1", pid, "TERM", "signalled", EARLIER);
            }
        } else {
            terminateThisWeek();
        }
        assertThat(ask(question)).hasSize(rows).startsWith(first);
    }

    private void terminateThisWeek() throws SQLException {
        var now = Instant.now();
        terminate("raz", "gpu-1", 812, "TERM", "signalled", now.minus(Duration.ofDays(6)));
        terminate("raz", "gpu-1", 812, "KILL", "signalled", now.minus(Duration.ofDays(6)));
        terminate("raz", "gpu-2", 812, "TERM", "signalled", now);
        terminate("ann", "gpu-1", 813, "TERM", "signalled", now);
        terminate("bob", "gpu-1", 814, "TERM", "denied", now);
        terminate("bob", "gpu-1", 815, "TERM", "perhaps", now);
        terminate("bob", "gpu-1", 816, "TERM", "signalled", now.minus(Duration.ofDays(8)));
    }

    private void terminate(String user, String host, int pid, String signal, String outcome, Instant at)
            throws SQLException {
        insert(
                "action (at, host, type, outcome, user, devices, pid, start_time, command, signal, rules, bytes)",
                "%d, '%s', 'terminate', '%s', '%s', '[0]', %d, %d, 'python', '%s', '[]', 1"
                        .formatted(at.toEpochMilli(), host, outcome, user, pid, pid * 10, signal));
    }

    /** The device time that was held and not used is idle. */
    private void use(Instant hour, int held, int used) throws SQLException {
        insert(
                "usage (hour, host, user, held, used, idle)",
                "%d, 'gpu-1', 'raz', %d, %d, %d"
                        .formatted(hour.toEpochMilli(), held * HOUR, used * HOUR, (held - used) * HOUR));
    }

    private void insert(String table, String values) throws SQLException {
        try (var statement = database.createStatement()) {
            statement.executeUpdate("INSERT INTO %s VALUES (%s)".formatted(table, values));
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
