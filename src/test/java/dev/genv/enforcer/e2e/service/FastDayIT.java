package dev.genv.enforcer.e2e.service;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.icegreen.greenmail.util.GreenMail;
import com.icegreen.greenmail.util.ServerSetup;
import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.browser.Chromium;
import dev.genv.enforcer.testsupport.browser.Window;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The packaged service at 100 times the speed: libfaketime accelerates its clocks and its waits, and not those of its children. The report,
 * the page and the mail must have the same hours, in which each user held and used what the user holds and uses. {@code ReportQueriesTest}
 * compares such hours with what was observed.
 */
@Tag("long")
class FastDayIT extends NodeSuite {
    private static final Instant SATURDAY = Instant.parse("2026-11-28T00:00:00Z");
    /** A whole day takes a quarter of an hour. */
    private static final Duration DAY = Duration.ofMinutes(repetitions(120, 1440));

    private static final Map<String, Integer> USERS = Map.of("alice", 54_011, "bob", 54_012, "carol", 54_013);
    /** MIG has no utilization. */
    private static final String STATUS = """
        0, 0, 16384, 60, 90, 120.00, NVIDIA RTX A4000
        1, 0, 16384, 60, 0, 120.00, NVIDIA RTX A4000
        2, 0, 16384, 60, [N/A], 120.00, NVIDIA RTX A4000
        3, 0, 16384, 60, 50, 120.00, NVIDIA RTX A4000
        """;

    private static final List<String> COLUMNS = List.of("held", "present", "used", "idle", "unknown", "unattached");
    /** On a slow machine the service kills nvidia-smi when it asks for the utilization, which is unknown then. */
    private boolean isUtilizationKnown;

    private final GreenMail mail =
            new GreenMail(new ServerSetup[] {new ServerSetup(0, "127.0.0.1", ServerSetup.PROTOCOL_SMTP)});

    @BeforeEach
    void startMail() {
        mail.start();
    }

    @AfterEach
    void stopMail() {
        mail.stop();
    }

    @Test
    void reportPageAndMailHaveTheHoursOfADay() throws Exception {
        Requirements.rootWithCapabilities();
        node.addDatabase();
        node.variable("LD_PRELOAD", library().toString())
                .variable("FAKETIME_TIMESTAMP_FILE", directory.resolve("time").toString())
                .variable("FAKETIME_CACHE_DURATION", "1")
                .variable("TZ", "UTC")
                .set("INTERVAL", "3m")
                .set("GPU_TIMEOUT", "24h")
                .set("LOCK_TIMEOUT", "24h")
                .set("IDLE_DEVICES", "enforce")
                .set("IDLE_AFTER", DAY.dividedBy(4).toMinutes() + "m")
                .set("ENV_DEVICES", "audit")
                .set("MAIL_HOST", "127.0.0.1")
                .set("MAIL_PORT", mail.getSmtp().getPort())
                .set("MAIL_TLS", "none")
                .set("MAIL_FROM", "genv@gpu.example.org")
                .set("MAIL_REPORT_TO", "admin@gpu.example.org");
        try (var chromium = Chromium.start()) {
            observeADay();
            setTime("2026-11-30 08:01:00", 1); // the mail was due a minute before
            node.setStoreLimit(HANG);
            var service = startService();
            var report = new ServiceClient(service).json("/report?from=last-week&to=today");
            var hours = new TreeMap<String, Map<String, Double>>();
            report.path("users").forEach(user -> hours.put(user.path("user").asText(), hours(user)));
            assertThat(hours).containsOnlyKeys(USERS.keySet());
            checkUse(hours, report.at("/hosts/0/observed_hours").asDouble());
            var alice = report.at("/users/0");
            assertThat(alice.path("user").asText()).isEqualTo("alice");
            assertThat(alice.path("detachments").asLong()).isPositive();

            try (var window = new Window(chromium, service.port(), chromium.window())) {
                window.open("#/report").link("Last 7 days").click();
                var rows = window.page().locator("#report table").first().locator("tbody tr");
                assertThat(rows).hasCount(hours.size());
                for (var row : rows.all()) {
                    var cells = row.locator("th, td").allInnerTexts();
                    assertShown(cells.subList(1, 7), COLUMNS, hours.get(cells.getFirst()), 0.005);
                    if (cells.getFirst().equals("alice")) {
                        assertThat(cells.getLast())
                                .isEqualTo(alice.path("detachments").asText());
                    }
                }
            }
            await().until(() -> mail.getReceivedMessages().length == 1);
            var text = mail.getReceivedMessages()[0].getContent().toString();
            hours.forEach((user, expected) -> {
                var cells = text.substring(text.indexOf("\n" + user + " ") + 1).split("\\s+", 7);
                var columns = List.of("held", "unattached", "used", "unknown", "idle");
                assertShown(Arrays.asList(cells).subList(1, 6), columns, expected, 0.05);
            });
            assertThat(text)
                    .containsPattern("alice +idle-devices +\\d+ +0 +%s\\s"
                            .formatted(alice.path("detachments").asText()));
        }
    }

    private static Map<String, Double> hours(JsonNode user) {
        return COLUMNS.stream()
                .collect(Collectors.toMap(
                        column -> column,
                        column -> user.path(column + "_device_hours").asDouble()));
    }

    /** What each of them did on each device: see {@link #observeADay}. */
    private void checkUse(Map<String, Map<String, Double>> hours, double observed) {
        var day = DAY.toMinutes() / 60.0;
        assertThat(observed).isBetween(0.8 * day, 1.5 * day);
        hours.forEach((user, of) -> {
            assertThat(of.get("held") + of.get("unattached"))
                    .as(user)
                    .isCloseTo(of.get("used") + of.get("unknown") + of.get("idle"), within(5e-4));
            var isBobs = user.equals("bob") || !isUtilizationKnown;
            assertThat(of.get("used") + of.get("unknown")).as(user).isCloseTo(of.get("present"), within(2e-4));
            assertThat(of.get("unknown")).as(user).isBetween(0.0, isBobs ? of.get("present") : 1e-4);
        });
        var alice = hours.get("alice");
        assertThat(alice.get("present")).isBetween(0.6 * day, observed);
        assertThat(alice.get("idle")).as("GPU 1 until it was detached").isBetween(0.25 * day, observed);
        assertThat(hours.get("bob").get("unknown")).isBetween(0.5 * day, 0.9 * observed);
        assertThat(hours.get("bob").get("idle"))
                .as("after the end of the process")
                .isBetween(0.01 * day, 0.5 * observed);
        var carol = hours.get("carol");
        assertThat(carol.get("held")).isZero();
        assertThat(carol.get("unattached")).isEqualTo(carol.get("present")).isBetween(0.2 * day, 0.9 * observed);
    }

    private static void assertShown(
            List<String> cells, List<String> columns, Map<String, Double> hours, double rounding) {
        for (var i = 0; i < columns.size(); i++) {
            assertThat(Double.parseDouble(cells.get(i)))
                    .as("%s of %s", columns.get(i), cells)
                    .isCloseTo(hours.get(columns.get(i)), within(1.1 * rounding));
        }
    }

    /**
     * Alice computes on GPU 0 and holds GPU 1, which is reclaimed. Bob holds GPU 2, and computes there for a part of the day. Carol computes on
     * GPU 3, which she does not hold.
     */
    private void observeADay() throws IOException {
        node.gpus.gpus(4).status(STATUS);
        try (var alice = Child.ofUser(uid("alice"));
                var bob = Child.ofUser(uid("bob"));
                var carol = Child.ofUser(uid("carol"));
                var alices = Child.ofUser(uid("alice"), Map.of("GENV_ENVIRONMENT_ID", "alices"));
                var bobs = Child.ofUser(uid("bob"), Map.of("GENV_ENVIRONMENT_ID", "bobs"));
                var carols = Child.ofUser(uid("carol"), Map.of("GENV_ENVIRONMENT_ID", "carols"))) {
            node.state
                    .env("alices", uid("alice"), "alice", null, alice.pid())
                    .env("bobs", uid("bob"), "bob", null, bob.pid())
                    .env("carols", uid("carol"), "carol", null, carol.pid())
                    .device(0, "alices")
                    .device(1, "alices")
                    .device(2, "bobs")
                    .device(3)
                    .write();
            node.gpus.process(0, alices.pid(), "4096").process(2, bobs.pid(), "2048");
            setTime("2026-11-28 00:00:00", 1);
            node.setStoreLimit(DAY.multipliedBy(10));
            var service = startService();
            var client = new ServiceClient(service);
            client.awaitObservation();
            setTime("2026-11-28 00:00:00", 100);

            awaitPart(client, 0.3);
            node.gpus.process(3, carols.pid(), "1024");
            awaitPart(client, 0.6);
            await().until(() -> !Files.readString(node.devicesJson()).contains(node.state.devicesJson()));
            node.gpus.retain(line -> !line.contains(", " + bobs.pid() + ","));
            awaitPart(client, 0.8);
            node.gpus.noProcesses();
            node.state.device(0).device(1).device(2).writeDevices();
            await().until(() ->
                    client.json("/snapshot").findValues("attachments").stream().allMatch(JsonNode::isEmpty));
            client.awaitNext(client.observe());
            service.stop();
            isUtilizationKnown =
                    service.outputLines().stream().noneMatch(line -> line.contains("device_status_unknown"));
        }
    }

    private static int uid(String user) {
        return USERS.getOrDefault(user, 0);
    }

    private Node.Service startService() throws IOException {
        var service = node.start();
        await().until(() -> service.port() > 0 || !service.process().isAlive());
        return service;
    }

    /** A program reads the file once a second. Its time since its start passes at this speed. */
    private void setTime(String start, int speed) throws IOException {
        Files.writeString(directory.resolve("time"), "@%s x%d\n".formatted(start, speed));
    }

    private static Path library() throws IOException {
        try (var libraries = Files.newDirectoryStream(Path.of("/usr/lib"), "*-linux-gnu*")) {
            for (var folder : libraries) {
                var library = folder.resolve("faketime/libfaketimeMT.so.1");
                if (Files.exists(library)) {
                    return library;
                }
            }
        }
        Requirements.require(false, "libfaketime", "apt install libfaketime");
        throw new IllegalStateException();
    }

    /** Waits until the service has observed this part of the day. */
    private static void awaitPart(ServiceClient client, double part) {
        var time = SATURDAY.plusMillis((long) (part * DAY.toMillis()));
        await().atMost(HANG.plus(DAY.dividedBy(50)))
                .until(() -> !Instant.parse(
                                client.json("/status").path("last_cycle_at").asText())
                        .isBefore(time));
    }
}
