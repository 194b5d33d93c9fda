package dev.genv.enforcer.recording;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.recording.PictureReader.Recorded;
import dev.genv.enforcer.store.Sql;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.nio.charset.StandardCharsets;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What is recorded is read as it was observed. Other pasts: {@code -Dfuzz.seed} and {@code -Dfuzz.pasts}. */
class RecorderTest {
    private static final long SEED = Long.getLong("fuzz.seed", 20_261_122);
    private static final int PASTS = Integer.getInteger("fuzz.pasts", 10);
    private static final Snapshot IDLE = host().devices(4).snapshot();

    private final RecordedPast past = new RecordedPast();

    @AfterEach
    void close() {
        past.close();
    }

    @Test
    void randomPastIsReadAsItWasRecorded() {
        for (var seed = SEED; seed < SEED + PASTS; seed++) {
            var random = new RandomPast(seed);
            try (var recorded = new RecordedPast()) {
                var last = new HashMap<String, Picture>();
                for (var cycle = 0; cycle < 40; cycle++) {
                    var begin = recorded.now();
                    var fleet = random.next().snapshots();
                    recorded.cycle(fleet.toArray(Snapshot[]::new));
                    for (var each : recorded.read(begin)) {
                        put(last, each);
                    }
                    assertThat(last.keySet())
                            .as("-Dfuzz.seed=%d", seed)
                            .containsExactlyInAnyOrderElementsOf(
                                    fleet.stream().map(Snapshot::host).toList());
                    for (var snapshot : fleet) {
                        assertIsRecorded(snapshot, last.get(snapshot.host()));
                    }
                }
            }
        }
    }

    private static void put(Map<String, Picture> last, Recorded recorded) {
        if (recorded.picture() == null) {
            last.remove(recorded.host());
        } else {
            last.put(recorded.host(), recorded.picture());
        }
    }

    private static void assertIsRecorded(Snapshot observed, @Nullable Picture picture) {
        assertThat(picture).isNotNull();
        var recorded = picture.snapshot();
        assertThat(recorded.environments()).isEqualTo(observed.environments());
        assertThat(recorded.devices()).isEqualTo(observed.devices());
        assertThat(recorded.listedDevices()).isEqualTo(observed.listedDevices());
        assertThat(recorded.missing()).isEqualTo(observed.missing());
        assertThat(recorded.problems()).isEmpty();
        assertThat(withoutMemory(recorded)).isEqualTo(withoutMemory(observed));
    }

    private static List<GpuProcess> withoutMemory(Snapshot snapshot) {
        return snapshot.processes().stream()
                .map(process -> process.withoutWorkload().withUsage(List.of()))
                .toList();
    }

    @Test
    void detailsOfAHostAreNotRecorded() throws Exception {
        var picture = Picture.of(host().devices(1).snapshot().with(HostDetails.reached("machine boot", 7)), null);
        var json = picture.write().orElseThrow();
        assertThat(new ObjectMapper().readTree(json)).hasToString("""
                {"snapshot":{"host":"here","processes":[],"environments":[],\
                "devices":[{"index":0,"total_memory":"15258mi","attachments":[]}],"listed_devices":[0],\
                "missing":[],"problems":[]},\
                "machine":"machine boot","ticks":7}""");
        assertThat(Picture.read(json)).isEqualTo(picture);
        var earlier = new String(json, StandardCharsets.UTF_8)
                .replace(
                        "\"environments\"",
                        "\"unlisted\":{\"memory\":{},\"holders\":[{\"since\":1}]},\"environments\"");
        assertThat(Picture.read(earlier.getBytes(StandardCharsets.UTF_8)))
                .as("with the holders that other versions recorded")
                .isEqualTo(picture);
    }

    @Test
    void onlyChangesAreRecorded() {
        past.cycles(100, IDLE).cycles(100, with(1));

        assertThat(past.read()).extracting(Recorded::at).containsExactly(at(0), at(100));
        assertThat(past.read()).extracting(Recorded::mark).containsExactly(0L, 1_000_000L);
    }

    @Test
    void smallChangeOfMemoryIsLeftOut() {
        past.cycle(memory("1000mi")).cycle(memory("1050mi")).cycle(memory("1200mi"));

        assertThat(past.read()).hasSize(2);
    }

    @Test
    void marksContinueAfterARestartAndTimeWithoutTheServiceCountsNothing() {
        past.cycle(IDLE).cycle(with(1)).restarts().waits(Duration.ofHours(5)).cycle(with(2));
        past.cycle(with(3));

        assertThat(past.read()).extracting(Recorded::mark).containsExactly(0L, 10_000L, 10_000L, 20_000L);
        assertThat(past.recorder.mark()).isEqualTo(30_000);
    }

    @Test
    void hostThatLeftTheListWhileTheServiceDidNotRunIsGone() {
        past.cycle(IDLE, host("b").snapshot())
                .restarts()
                .cycle(host("b").snapshot())
                .restarts()
                .cycle(host("b").snapshot());

        assertThat(past.read().stream().filter(each -> each.picture() == null))
                .singleElement()
                .satisfies(gone -> assertThat(gone.host()).isEqualTo("here"));
    }

    @Test
    void completePictureIsRecordedAfterSixHoursAndWhenTheDifferencesAreLarge() {
        past.cycles(6 * 360 + 1, IDLE);
        assertThat(complete()).isEqualTo(2);

        IntStream.range(0, 100).forEach(number -> past.cycle(with(number)));
        assertThat(complete()).isBetween(4L, 50L);
    }

    @Test
    void earlierPicturesOfEachHostComeFirst() {
        past.cycle(IDLE, host("b").snapshot()).cycles(10, with(1), host("b").snapshot());

        assertThat(past.read(at(5))).extracting(Recorded::host).containsExactly("b", "here");
        assertThat(past.read(at(5)).getLast().at()).isEqualTo(at(1));
    }

    @Test
    void damagedPictureHidesTheHostUntilTheNextOne() {
        past.cycle(IDLE).cycle(with(1)).cycle(with(2));
        past.update("UPDATE observation SET data = x'00' WHERE id = 2");

        assertThat(shown()).containsExactly(true, false, true);
        assertThat(past.readAll(Instant.EPOCH, new ArrayList<>())).isFalse();
    }

    @Test
    void withoutTheBaseNothingIsShownUntilTheNextCompletePicture() {
        past.cycle(IDLE).cycle(with(1));
        past.update("DELETE FROM observation WHERE id = 1");
        past.cycle(with(2)).cycle(with(3));

        assertThat(shown()).containsExactly(false, true, true);
        assertThat(complete()).isOne();
    }

    @Test
    void everythingIsRecordedAnewAfterAFailure() {
        past.cycle(IDLE);
        past.update("ALTER TABLE observation RENAME TO away");
        past.cycle(with(1));
        past.update("ALTER TABLE away RENAME TO observation");
        past.cycle(with(1));

        assertThat(past.read())
                .extracting(each -> each.picture() == null
                        ? -1
                        : each.picture().snapshot().processes().size())
                .containsExactly(0, 1);
        assertThat(complete()).isEqualTo(2);
    }

    @Test
    void picturesOfSeveralBlocksAndPagesAreRead() {
        for (var number = 0; number < 30; number++) {
            past.cycle(large(1_000 + number * 10));
        }
        assertThat(past.read())
                .hasSize(30)
                .allSatisfy(each -> assertThat(each.picture()).isNotNull());
        assertThat(Objects.requireNonNull(past.read().getLast().picture()).snapshot())
                .isEqualTo(large(1_290));
        assertThat(past.number("SELECT avg(bytes) FROM observation WHERE base IS NOT NULL"))
                .isLessThan(past.number("SELECT max(bytes) FROM observation") / 2);
    }

    @Test
    void tooLargePictureIsNotRecorded() {
        past.cycle(large(10_000)).cycle(large(10_001)).cycle(with(1));

        assertThat(shown()).containsExactly(false, false, true);
        assertThat(past.readAll(Instant.EPOCH, new ArrayList<>()))
                .as("is whole")
                .isFalse();
    }

    private List<Boolean> shown() {
        return past.read().stream().map(each -> each.picture() != null).toList();
    }

    private long complete() {
        return past.number("SELECT count(*) FROM observation WHERE base IS NULL AND data IS NOT NULL");
    }

    private static Instant at(int cycle) {
        return RecordedPast.BEGIN.plus(RecordedPast.INTERVAL.multipliedBy(cycle));
    }

    private static Snapshot with(int pid) {
        return host().devices(4)
                .with(env("7").attached(0))
                .with(process(pid + 1).inEnvironment("7").uses(0, "100mi"))
                .snapshot();
    }

    private static Snapshot memory(String memory) {
        return host().devices(1).with(process(1).uses(0, memory)).snapshot();
    }

    private static Snapshot large(int processes) {
        return host().devices(8)
                .with(IntStream.range(0, processes)
                        .mapToObj(number -> process(1 + number * 7).uses(number % 8, number + 1 + "mi"))
                        .toArray(GpuProcessBuilder[]::new))
                .snapshot();
    }

    // The times and bounds of the sums; ReportQueriesTest compares what counts for whom with a count of its own.

    private static final Snapshot HELD =
            host().devices(1).with(env("1").attached(0)).snapshot();

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
