package dev.genv.enforcer.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.testsupport.LogRecords;
import dev.genv.enforcer.testsupport.TestTimeouts;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A large database is not lost because its check or its migration takes long. */
class LargeDatabaseTest {
    private static final UUID ID = new UUID(1, 2);
    private static final int ROW_BYTES = 50_000;

    @TempDir
    Path folder;

    @Test
    void aCheckThatTakesTooLongEndsAndTheDatabaseIsUsed() throws Exception {
        write(2_000);
        try (var log = LogRecords.of(Database.class.getName())) {
            assertThat(start(Duration.ZERO)).contains(ID.toString());
            assertThat(log.lines()).anyMatch(line -> line.endsWith("too large to be checked completely at the start"));
        }
    }

    /** No time for the check is the worst case: then SQLite notices the damage when the start reads the table. */
    @Test
    void damageIsNoticedWithoutACompleteCheck() throws Exception {
        write(10);
        try (var file = Files.newByteChannel(file(), StandardOpenOption.WRITE)) {
            file.position(4096).write(ByteBuffer.allocate((int) file.size() - 4096));
        }
        assertThat(start(Duration.ZERO)).isNotEqualTo(Optional.of(ID.toString()));
        assertThat(folder.resolve("damaged-" + DataFolder.DATABASE)).exists();
    }

    /** With -Dsuite.long=true it has 6 GB, and needs as much space in the folder for temporary files. */
    @Tag("long")
    @Test
    void theTablesOfAnEarlierVersionAreRemovedAtTheStart() throws Exception {
        write(NodeSuite.IS_LONG ? 120_000 : 10_000);
        var size = Files.size(file());
        var begun = System.nanoTime();
        assertThat(start(Duration.ofSeconds(10))).contains(ID.toString());
        System.out.printf("%n%d MiB: started after %d ms%n", size >> 20, (System.nanoTime() - begun) / 1_000_000);
        begun = System.nanoTime();
        assertThat(start(Duration.ofSeconds(10))).contains(ID.toString());
        System.out.printf("%d MiB: started again after %d ms%n", size >> 20, (System.nanoTime() - begun) / 1_000_000);
        assertThat(folder.resolve("damaged-" + DataFolder.DATABASE)).doesNotExist();
        try (var connection = DriverManager.getConnection("jdbc:sqlite:" + file())) {
            assertThat(new Sql(connection).number("SELECT COUNT(*) FROM sqlite_schema WHERE name GLOB 'observation*'"))
                    .isZero();
        }
    }

    private Path file() {
        return folder.resolve(DataFolder.DATABASE);
    }

    /** Starts the database, and returns its id. */
    private Optional<String> start(Duration checkLimit) {
        var config = new Database.Config(Optional.of(folder), 1L << 40);
        try (var database = new Database(config, TestTimeouts.HANG, TestTimeouts.HANG, checkLimit)) {
            return database.start(connection -> new Sql(connection).text("SELECT value FROM meta WHERE key = 'id'"));
        }
    }

    /** Writes a database of schema 4 with so many pictures, and a tenth as many events. */
    private void write(int rows) throws IOException, SQLException {
        Files.createFile(file(), PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        try (var connection = DriverManager.getConnection("jdbc:sqlite:" + file())) {
            for (var pragma : List.of("auto_vacuum = INCREMENTAL", "journal_mode = OFF", "synchronous = OFF")) {
                new Sql(connection).execute("PRAGMA " + pragma);
            }
            connection.setAutoCommit(false);
            for (var version = 1; version <= 4; version++) {
                run(connection, version);
            }
            var sql = new Sql(connection);
            sql.execute("PRAGMA user_version = 4");
            sql.update("INSERT INTO meta VALUES ('id', ?)", ID.toString());
            var each = "WITH RECURSIVE each(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM each WHERE n < ?1) ";
            sql.update(
                    each
                            + "INSERT INTO observation SELECT n, n, n, 'gpu-' || n % 100, NULL, zeroblob(?2), ?2 FROM each",
                    rows,
                    ROW_BYTES);
            sql.update(
                    each + "INSERT INTO event SELECT n, n, 'opened', 'gpu-' || n % 100, hex(zeroblob(?2 / 2)), ?2, ''"
                            + " FROM each",
                    rows / 10,
                    ROW_BYTES);
            connection.commit();
        }
    }

    private static void run(Connection connection, int version) throws IOException, SQLException {
        try (var in = Database.class.getResourceAsStream("schema-%d.sql".formatted(version))) {
            for (var statement : new String(in.readAllBytes(), StandardCharsets.UTF_8).split(";\n\n", -1)) {
                new Sql(connection).execute(statement);
            }
        }
    }
}
