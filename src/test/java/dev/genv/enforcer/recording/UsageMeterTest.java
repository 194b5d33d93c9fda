package dev.genv.enforcer.recording;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.Unlisted;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.store.Sql;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class UsageMeterTest {
    private static final Snapshot HELD =
            host().devices(1).with(env("1").attached(0)).snapshot();

    private final RecordedPast past = new RecordedPast();

    @AfterEach
    void close() {
        past.close();
    }

    @Test
    void deviceCountsOnceForAUserAndIsIdleForOneWithoutAProcess() {
        observe(host().devices(1)
                .with(env("1").attached(0), env("2").attached(0))
                .with(process(1).uid(1234).uses(0), process(2).uid(1234).uses(0)));

        assertThat(rows()).containsExactly("1234 0 60 0 60 0", "raz 60 0 0 0 60");
    }

    @Test
    void onlyDevicesThatTheToolListsAndActiveEnvironmentsCount() {
        observe(host().devices(2).unlisted(1).with(env("1").attached(1)));

        assertThat(rows()).isEmpty();
    }

    @Test
    void processIsItsRealUidsUnlessThatIsRootsOrMayBeAnybodys() {
        observe(host().devices(4)
                .with(env("1").attached(0))
                .with(
                        process(1).inEnvironment("1").uid(1001).account("alice").uses(1),
                        process(2).inEnvironment("1").uid(0).account("root").uses(2),
                        process(3).inEnvironment("1").uid(7777).uses(3)));

        assertThat(rows()).containsExactly("alice 0 60 0 60 0", "raz 60 120 0 120 60");
    }

    @Test
    void disputedEnvironmentIsOfNoUser() {
        observe(host().devices(1).with(env("1").disputed("by two").attached(0)));

        assertThat(rows()).containsExactly(" 60 0 0 0 60");
    }

    @Test
    void protectedProgramUsesNothingAndAHolderWhatItProves() {
        var holder = new Unlisted.Holder(
                process(5).uid(1001).usesUnknown(0).usesUnknown(1).build(), 1, List.of(1));
        var xorg = process(1)
                .uid(0)
                .immune(Immunity.Kind.PROTECTED, "it runs Xorg")
                .uses(0);
        observe(host().devices(2).with(xorg).snapshot().with(new Unlisted(Map.of(), List.of(holder))));

        assertThat(rows()).containsExactly("1001 0 60 0 60 0");
    }

    @Test
    void subordinateUidIsItsAccounts() {
        var named =
                host().devices(2).with(env("1").user("john").uid(1000).account().attached(0));
        past.cycle(named.snapshot());
        observe(host().devices(2)
                .subordinate(1000, 100_000, 65_536)
                .with(
                        process(8).uid(1000).account("john").uses(0),
                        process(9).uid(100_033).uses(1)));

        assertThat(rows()).containsExactly("john 10 120 0 120 10");
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
