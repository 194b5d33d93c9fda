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
    void questionsFitTheSchema() throws SQLException {
        for (var question : questions) {
            try (var statement = database.createStatement();
                    var rows = statement.executeQuery(question)) {
                assertThat(rows.getMetaData().getColumnCount()).as(question).isPositive();
            }
        }
    }
}
