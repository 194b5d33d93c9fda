package dev.genv.enforcer.recording;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.store.Sql;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The times and bounds of the sums; ReportQueriesTest compares what counts for whom with a count of its own. */
class RecorderTest {
    private static final Snapshot HELD =
            host().devices(1).with(env("1").attached(0)).snapshot();

    private final RecordedPast past = new RecordedPast();

    @AfterEach
    void close() {
        past.close();
    }

    @Test
    void timeIsThatOfTheEarlierCycleWithoutTimeThatWasNotObserved() {
        past.cycle(HELD).waits(Duration.ofHours(5)); // counts two intervals
        past.cycle(host().devices(1)
                .with(env("1").attached(0))
                .missing(SnapshotPart.ATTACHMENTS)
                .snapshot());
        past.cycle(HELD).restarts().waits(Duration.ofHours(5));
        past.cycle(HELD).cycle(host("b").snapshot()).cycle(host("b").snapshot());
        past.recorder.close();

        assertThat(past.number("SELECT sum(held) FROM usage")).isEqualTo(30_000);
        assertThat(past.number("SELECT sum(time) FROM observed WHERE host = 'here'"))
                .isEqualTo(30_000);
        assertThat(past.number("SELECT sum(time) FROM observed WHERE host = 'b'"))
                .isEqualTo(10_000);
    }

    @Test
    void timeIsSplitAtTheHour() {
        past.waits(Duration.ofMinutes(59).plusSeconds(55)).cycle(HELD).cycle(HELD);
        past.recorder.close();

        var begin = RecordedPast.BEGIN.toEpochMilli();
        assertThat(past.number("SELECT held FROM usage WHERE hour = ?", begin)).isEqualTo(5_000);
        assertThat(past.number("SELECT held FROM usage WHERE hour = ?", begin + 3_600_000))
                .isEqualTo(5_000);
    }

    @Test
    void sumsAreWrittenOnceAMinuteAndWaitForAFailedDatabase() {
        past.cycles(3, HELD);
        assertThat(rows()).isEmpty();
        past.cycles(4, HELD);
        assertThat(rows()).containsExactly("raz 60 0 0 0 60");

        past.update("ALTER TABLE usage RENAME TO away");
        past.cycles(7, HELD);
        past.update("ALTER TABLE away RENAME TO usage");
        past.cycle(HELD);
        assertThat(rows()).containsExactly("raz 140 0 0 0 140");
    }

    @Test
    void namesAreBoundedInLengthAndInNumber() {
        var environments = IntStream.range(0, UsageMeter.MAX_USERS + 50)
                .mapToObj(number ->
                        env("e" + number).user(number + "x".repeat(4_096)).attached(0))
                .toArray(EnvBuilder[]::new);
        observe(host().devices(1).with(environments));

        assertThat(past.number("SELECT count(*) FROM usage")).isEqualTo(UsageMeter.MAX_USERS + 1);
        assertThat(past.number("SELECT held FROM usage WHERE user = ''")).isEqualTo(50 * 60_000);
        assertThat(past.number("SELECT max(length(user)) FROM usage")).isLessThan(100);
    }

    private void observe(HostBuilder node) {
        observe(node.snapshot());
    }

    /** Observes this for a minute. */
    private void observe(Snapshot snapshot) {
        past.cycles(6, snapshot).cycle(host("other").snapshot());
        past.recorder.close();
    }

    private static String text(ResultSet row, int column) {
        try {
            return row.getString(column);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** The seconds of each user: held, present, used, unknown, idle. */
    private List<String> rows() {
        return past.call(connection -> new Sql(connection)
                .query(
                        "SELECT user, held / 1000, present / 1000, used / 1000, unknown / 1000, idle / 1000 FROM usage"
                                + " ORDER BY user",
                        row -> IntStream.rangeClosed(1, 6)
                                .mapToObj(column -> text(row, column))
                                .collect(Collectors.joining(" "))));
    }
}
