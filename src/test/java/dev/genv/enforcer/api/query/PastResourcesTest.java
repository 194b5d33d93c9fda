package dev.genv.enforcer.api.query;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasItem;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.startsWith;

import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.recording.RecordedPast;
import dev.genv.enforcer.store.Database;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.QuarkusTestProfile;
import io.quarkus.test.junit.TestProfile;
import io.restassured.response.ValidatableResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@code GET /report} about a recorded hour. */
@QuarkusTest
@Tag("quarkus")
@TestProfile(PastResourcesTest.RecordingNode.class)
class PastResourcesTest {
    @Test
    void reportsHoursByUserAndHost() {
        var answer = report(
                        "from=%s&to=%s".formatted(RecordingNode.FIRST, RecordingNode.FIRST.plus(Duration.ofHours(1))))
                .statusCode(200)
                .contentType("application/json")
                .body("recorded_since", equalTo(RecordingNode.FIRST.toString()))
                .body("complete", equalTo(true))
                .body("hosts[0].observed_hours", equalTo(0.9972f))
                .body("users.user", contains("1234", RecordingNode.HOSTILE, "raz"))
                .body("rules", hasSize(0))
                .body("timeline", hasSize(0));

        assertThat(answer.extract().asString().replaceAll(".*\"usage\":|,\"users\".*", ""))
                .isEqualTo("""
                    [{"user":"1234","host":"gpu-1","held_device_hours":0.0,"present_device_hours":0.4972,"used_device_hours":0.0,
                    "unknown_device_hours":0.4972,"idle_device_hours":0.0,"unattached_device_hours":0.4972},
                    {"user":"=cmd|' /C calc'!A1","host":"gpu-1","held_device_hours":0.9972,"present_device_hours":0.0,
                    "used_device_hours":0.0,"unknown_device_hours":0.0,"idle_device_hours":0.9972,"unattached_device_hours":0.0},
                    {"user":"raz","host":"gpu-1","held_device_hours":2.4917,"present_device_hours":2.4917,"used_device_hours":0.0,
                    "unknown_device_hours":2.4917,"idle_device_hours":0.0,"unattached_device_hours":0.0}]\
                    """.replace("\n", ""));
    }

    @Test
    void reportIsCsvForThoseWhoAcceptItUnlessTheFormatDecides() {
        var csv = format("text/csv", "from=" + RecordingNode.FIRST).contentType(startsWith("text/csv"));
        assertThat(csv.extract().asString().split("\r\n"))
                .contains("\"'=cmd|' /C calc'!A1\",\"gpu-1\",0.9972,0.9972,0.0,0.0,0.0,0.9972,0.0")
                .contains("\"raz\",\"gpu-1\",0.9972,2.4917,2.4917,0.0,2.4917,0.0,0.0");

        format("application/json", "format=csv").contentType(startsWith("text/csv"));
        format("text/csv", "format=json").contentType("application/json");
        format("*/*", "to=2026-11-22T00:00:00Z").contentType("application/json");
    }

    private static ValidatableResponse format(String accepted, String query) {
        return given().accept(accepted).get("/report?" + query).then().statusCode(200);
    }

    @Test
    void reportsTheLastThirtyDaysByDefault() {
        var period = report("to=2026-10-31T08:00:00Z").statusCode(200).body("hosts.host", hasItem("gpu-1"));

        period.body("from", equalTo("2026-10-01T08:00:00Z"));
    }

    @Test
    void daysAreThoseOfTheServicesZone() {
        var begin = LocalDate.parse("2026-10-01").atStartOfDay(ZoneId.systemDefault());
        report("from=2026-10-01&to=2026-10-02")
                .statusCode(200)
                .body("from", equalTo(begin.toInstant().toString()))
                .body("to", equalTo(begin.plusDays(2).toInstant().minusMillis(1).toString()));
    }

    private static ValidatableResponse report(String query) {
        return given().get("/report?" + query).then();
    }

    /**
     * The service with a journal of an hour. In its second half raz has a third device, two processes ran outside of environments, and one
     * of the users has a hostile name.
     */
    public static class RecordingNode implements QuarkusTestProfile {
        static final String HOSTILE = "=cmd|' /C calc'!A1";
        static final Duration INTERVAL = RecordedPast.INTERVAL;
        static final int CYCLES = 360;
        /** The first recorded cycle. */
        static final Instant FIRST = Instant.parse("2026-10-01T08:00:00Z");

        static final Instant HALF = FIRST.plus(INTERVAL.multipliedBy(CYCLES / 2));

        /** In clock ticks. A process that is older than the entry of its environment is protected. */
        private static final long AFTER_ITS_ENVIRONMENT = 188_500;

        private static final Path FOLDER = Path.of("target/recording").toAbsolutePath();
        private static final Path DATA = FOLDER.resolve("journal");

        @Override
        public Map<String, String> getConfigOverrides() {
            try {
                if (Files.exists(FOLDER)) {
                    try (var files = Files.walk(FOLDER)) {
                        for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
                            Files.delete(file);
                        }
                    }
                }
                Files.createDirectories(DATA);
                record();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return Map.of(
                    "genv.enforcer.data-dir", DATA.toString(),
                    "genv.enforcer.state-dir", FOLDER.resolve("genv").toString(),
                    "genv.enforcer.nvidia-smi", FOLDER.resolve("bin/nvidia-smi").toString());
        }

        private static void record() {
            var folder = new Database.Config(Optional.of(DATA), 64 << 20);
            try (var past = new RecordedPast(new Database(folder), FIRST)) {
                for (var cycle = 0; cycle < CYCLES; cycle++) {
                    past.cycle(node(cycle >= CYCLES / 2));
                }
            }
        }

        private static Snapshot node(boolean isSecondHalf) {
            var node = host("gpu-1")
                    .devices(4)
                    .with(
                            env("1").attachedAt("20/11/2026 09:00:00", 0),
                            env("2").attachedAt("20/11/2026 10:00:00", 1),
                            env("9").user(HOSTILE).uid(1009).attached(3))
                    .with(
                            process(11).inEnvironment("1").uses(0, "100mi"),
                            process(12).inEnvironment("2").uses(1, "100mi"));
            if (isSecondHalf) {
                node.with(env("3").attachedAt("20/11/2026 11:00:00", 2))
                        .with(
                                process(13)
                                        .startedLaterBy(AFTER_ITS_ENVIRONMENT)
                                        .inEnvironment("3")
                                        .uses(2, "100mi"),
                                process(21).uid(1234).uses(3, "100mi"),
                                process(22).uid(1234).uses(3, "100mi"));
            }
            return node.snapshot();
        }
    }
}
