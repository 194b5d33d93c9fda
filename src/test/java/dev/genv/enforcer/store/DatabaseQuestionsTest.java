package dev.genv.enforcer.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
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

    private Connection database;
    private List<String> questions;

    @BeforeEach
    void createTables() throws IOException, SQLException {
        database = DriverManager.getConnection("jdbc:sqlite::memory:");
        execute("schema-1.sql");
        update("INSERT INTO usage VALUES (0, 'gpu-1', 'raz', 10, 4, 3)");
        execute("schema-2.sql");
        execute("schema-3.sql");
        execute("schema-4.sql");
        execute("schema-5.sql");
        questions = COMMAND.matcher(Files.readString(PAGE))
                .results()
                .map((MatchResult command) -> command.group(1))
                .toList();
        assertThat(questions).hasSize(3);
    }

    private void execute(String script) throws IOException, SQLException {
        try (var in = Objects.requireNonNull(Database.class.getResourceAsStream(script))) {
            for (var sql : new String(in.readAllBytes(), StandardCharsets.UTF_8).split(";\n\n", -1)) {
                update(sql);
            }
        }
    }

    private void update(String sql) throws SQLException {
        try (var statement = database.createStatement()) {
            statement.executeUpdate(sql);
        }
    }

    @Test
    void hoursOfAnEarlierVersionStillAddUp() throws SQLException {
        try (var statement = database.createStatement();
                var rows = statement.executeQuery("SELECT held, present, used, unknown, idle FROM usage")) {
            for (var column = 1; column <= 5; column++) {
                assertThat(rows.getInt(column))
                        .isEqualTo(List.of(10, 4, 0, 4, 6).get(column - 1));
            }
        }
    }

    @AfterEach
    void close() throws SQLException {
        database.close();
    }

    @Test
    void questionsFitTheSchema() throws SQLException {
        for (var question : questions) {
            try (var statement = database.createStatement();
                    var rows = statement.executeQuery(question)) {
                assertThat(rows.getMetaData().getColumnCount()).as(question).isPositive();
            }
        }
    }
}
