package dev.genv.enforcer.api.report;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.genv.enforcer.api.query.QueryParameters.Period;
import dev.genv.enforcer.recording.RecordedPast;
import dev.genv.enforcer.store.Database;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The hours of a day, against a count of its own from what the cycles observed. */
class ReportHoursTest {
    private static final Map<String, Long> USERS = Map.of("alice", 1001L, "raz", 1003L, "paul", 1004L);
    private static final int DEVICES = 3;
    private static final int CYCLES = 24 * 360;
    /** What is observed changes every quarter of an hour. */
    private static final int UNCHANGED = 90;

    private static final List<String> COLUMNS = List.of("held", "present", "used", "unknown", "idle", "unattached");

    private final Random random = new Random(29);
    private final List<Hold> holds = new ArrayList<>();
    private final List<Hold> processes = new ArrayList<>();
    private final @Nullable Integer[] utilization = new @Nullable Integer[DEVICES];
    private final Map<String, Integer> expected = new HashMap<>();

    private record Hold(String user, int device) {
        long uid() {
            return USERS.getOrDefault(user, 0L);
        }
    }

    @Test
    void hoursOfADayAreThoseOfItsObservations() throws Exception {
        var database = new Database(new Database.Config(Optional.empty(), 64 << 20));
        try (var past = new RecordedPast(database, RecordedPast.BEGIN)) {
            for (var cycle = 0; cycle < CYCLES; cycle += UNCHANGED) {
                change();
                var observed = observed().snapshot();
                for (var same = 0; same < UNCHANGED; same++) {
                    past.cycle(observed);
                }
                count();
            }
            // Until then, the last one counts. In a new hour, the last one is written.
            past.cycle(observed().snapshot());
            var end = RecordedPast.BEGIN.plus(Duration.ofDays(1)).minusMillis(1);
            check(new ReportQueries(database, new Period(RecordedPast.BEGIN, end)).read());
        }
    }

    private void check(ReportView report) {
        for (var row : report.usage()) {
            var hours = List.of(
                    row.heldDeviceHours(),
                    row.presentDeviceHours(),
                    row.usedDeviceHours(),
                    row.unknownDeviceHours(),
                    row.idleDeviceHours(),
                    row.unattachedDeviceHours());
            for (var column = 0; column < hours.size(); column++) {
                var key = row.user() + " " + COLUMNS.get(column);
                assertThat(hours.get(column)).as(key).isCloseTo(expected.getOrDefault(key, 0) / 360.0, within(1e-4));
            }
            assertThat(row.heldDeviceHours() + row.unattachedDeviceHours())
                    .isCloseTo(row.usedDeviceHours() + row.unknownDeviceHours() + row.idleDeviceHours(), within(5e-4));
        }
        assertThat(report.usage()).extracting(ReportView.UserHours::user).containsExactly("alice", "paul", "raz");
        assertThat(report.users()).hasSameSizeAs(report.usage());
    }

    private void change() {
        holds.clear();
        processes.clear();
        for (var user : USERS.keySet()) {
            for (var device = 0; device < DEVICES; device++) {
                if (random.nextInt(3) == 0) {
                    holds.add(new Hold(user, device));
                }
                if (random.nextInt(3) == 0) {
                    processes.add(new Hold(user, device));
                }
            }
        }
        for (var device = 0; device < DEVICES; device++) {
            utilization[device] = random.nextInt(3) == 0 ? null : Integer.valueOf(random.nextInt(2) * 50);
        }
    }

    private HostBuilder observed() {
        var node = host("here").devices(DEVICES).utilization(utilization);
        for (var hold : holds) {
            node.with(
                    env(hold.user + hold.device).user(hold.user).uid(hold.uid()).attached(hold.device));
        }
        for (var process : processes) {
            node.with(process(10 * (int) (process.uid() - 1000) + process.device)
                    .uid(process.uid())
                    .account(process.user)
                    .uses(process.device));
        }
        return node;
    }

    private void count() {
        for (var user : USERS.keySet()) {
            for (var device = 0; device < DEVICES; device++) {
                var isHeld = holds.contains(new Hold(user, device));
                var isPresent = processes.contains(new Hold(user, device));
                var percent = utilization[device];
                add(user, "held", isHeld);
                add(user, "present", isPresent);
                add(user, "used", isPresent && percent != null && percent > 0);
                add(user, "unknown", isPresent && percent == null);
                add(user, "idle", isPresent ? percent != null && percent == 0 : isHeld);
                add(user, "unattached", isPresent && !isHeld);
            }
        }
    }

    private void add(String user, String column, boolean counts) {
        if (counts) {
            expected.merge(user + " " + column, UNCHANGED, Integer::sum);
        }
    }
}
