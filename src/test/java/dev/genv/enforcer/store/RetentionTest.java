package dev.genv.enforcer.store;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is too old is deleted, and what no version needs any more leaves the database. */
class RetentionTest extends StoreFixture {
    private static final Duration AGE = Duration.ofDays(90);
    /** The age is checked once an hour. */
    private static final Duration HOUR = Duration.ofMinutes(61);

    /** Those of schema 4, with the rows that a service of that version wrote. */
    private static final List<String> OBSERVATIONS = List.of(
            """
            CREATE TABLE observation (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, mark INTEGER NOT NULL, host TEXT NOT NULL,
                base INTEGER, data BLOB, bytes INTEGER NOT NULL)
            """,
            "CREATE INDEX observation_host ON observation (host, base, id)",
            "CREATE INDEX observation_at ON observation (at)",
            "CREATE INDEX observation_host_at ON observation (host, at)",
            """
            CREATE TRIGGER observation_added AFTER INSERT ON observation BEGIN
                INSERT INTO size VALUES ('observation', NEW.host, '', NEW.bytes)
                    ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
            END
            """,
            """
            CREATE TRIGGER observation_removed AFTER DELETE ON observation BEGIN
                UPDATE size SET bytes = bytes - OLD.bytes WHERE kind = 'observation' AND host = OLD.host AND owner = '';
            END
            """,
            """
            INSERT INTO observation (at, mark, host, base, data, bytes)
                WITH RECURSIVE each(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM each WHERE value < 3000)
                SELECT value, value, 'here', NULL, randomblob(4000), 4100 FROM each
            """,
            "INSERT INTO meta VALUES ('mark', '3000')",
            "PRAGMA user_version = 4");

    /** Adds and resolves a violation. */
    private void violate() {
        node.setSnapshot(host().devices(2).with(process(7).uses(0)));
        cycle();
        node.setSnapshot(host().devices(2));
        cycle();
    }

    @Test
    void whatIsTooOldIsDeletedAlsoIfNothingIsNewer() throws Exception {
        violate();
        time.pass(AGE.minusHours(2));
        cycle();
        time.pass(HOUR);
        cycle();
        assertThat(rows()).as("younger than the age").doesNotContain(0L);
        var last = events.latest();
        time.pass(HOUR);
        cycle();
        assertThat(rows()).containsOnly(0L);

        restart();
        assertThat(events.latest()).as("no number has two meanings").isGreaterThan(last);
        violate();
        assertThat(rows()).as("new ones stay").doesNotContain(0L);
    }

    private List<Long> rows() throws StoreException {
        var rows = new ArrayList<Long>();
        for (var table : List.of("event", "action", "violation")) {
            rows.add(database.<Long>call(
                    connection -> new Sql(connection).number("SELECT COUNT(*) FROM %s".formatted(table))));
        }
        return rows;
    }

    @Test
    void databaseWithObservationsLosesThemAndKeepsTheRest() throws Exception {
        violate();
        var id = only().id();
        stop();
        for (var statement : OBSERVATIONS) {
            query(statement);
        }
        var file = directory.resolve(DataFolder.DATABASE);
        var before = Files.size(file);
        assertThat(before).isGreaterThan(12_000_000);

        start();
        assertThat(only().id()).isEqualTo(id);
        assertThat(events.latest()).isPositive();
        for (var number = 0; number < 5; number++) {
            cycle();
            assertThat(problems).isEmpty();
        }
        stop();
        assertThat(query("SELECT COUNT(*) FROM sqlite_schema WHERE name GLOB 'observation*'"))
                .isZero();
        assertThat(query("SELECT COUNT(*) FROM size WHERE kind = 'observation'"))
                .isZero();
        assertThat(query("SELECT COUNT(*) FROM meta WHERE key = 'mark'")).isZero();
        assertThat(query("SELECT COUNT(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"))
                .isOne();
        assertThat(Files.size(file)).as("free pages are taken from the file").isLessThan(before / 2);
    }

    /** Pages that observations had are used again before the file grows. */
    @Test
    void freePagesAreUsedAgain() throws Exception {
        stop();
        for (var statement : OBSERVATIONS) {
            query(statement);
        }
        start();
        cycle();
        stop();
        var free = query("PRAGMA freelist_count");
        assertThat(free).isPositive();
        var pages = query("PRAGMA page_count");
        query("CREATE TABLE more AS SELECT randomblob(1000000) AS data");
        assertThat(query("PRAGMA page_count")).isEqualTo(pages);
        assertThat(query("PRAGMA freelist_count")).isLessThan(free);
    }
}
