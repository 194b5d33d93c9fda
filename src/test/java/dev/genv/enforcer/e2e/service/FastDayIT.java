package dev.genv.enforcer.e2e.service;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
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
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The packaged service at 100 times the speed: libfaketime accelerates its clocks and its waits, and not those of its children. The report,
 * the page and the mail must have the hours that the recorded observations add up to, however many the machine makes.
 */
@Tag("long")
class FastDayIT extends NodeSuite {
    private static final Instant SATURDAY = Instant.parse("2026-11-28T00:00:00Z");
    /** A whole day takes a quarter of an hour. */
    private static final Duration DAY = Duration.ofMinutes(repetitions(120, 1440));

    private static final Duration INTERVAL = Duration.ofMinutes(3);
    private static final Duration MOST_OF_A_CYCLE = INTERVAL.multipliedBy(2);

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Integer> USERS = Map.of("alice", 54_011, "bob", 54_012, "carol", 54_013);
    /** Of each device, in percent. MIG has none. */
    private static final List<String> UTILIZATION = List.of("90", "0", "[N/A]", "50");

    /** The parts of an observation that show who holds and uses a device. */
    private static final Set<String> PARTS = Set.of("processes", "environments", "attachments");

    private static final List<String> COLUMNS = List.of("held", "present", "used", "unknown", "idle", "unattached");
    private static final int USED = 2;
    private static final int UNKNOWN = 3;
    private static final int NOT_SHOWN = -1;

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
    void reportPageAndMailHaveTheHoursOfTheRecordedObservations() throws Exception {
        Requirements.rootWithCapabilities();
        var data = node.addDatabase();
        node.variable("LD_PRELOAD", library().toString())
                .variable("FAKETIME_TIMESTAMP_FILE", directory.resolve("time").toString())
                .variable("FAKETIME_CACHE_DURATION", "1")
                .variable("TZ", "UTC")
                .set("INTERVAL", INTERVAL.toMinutes() + "m")
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
            var service = start();
            try (var database = DriverManager.getConnection("jdbc:sqlite:" + data.resolve("enforcer.db"));
                    var window = new Window(chromium, service.port(), chromium.window())) {
                var hours = countHours(database);
                assertThat(hours).containsOnlyKeys(USERS.keySet());
                var detached =
                        number(database, "SELECT COUNT(*) FROM action WHERE user = 'alice' AND outcome = 'detached'");
                assertThat(detached).isPositive();
                var report = new ServiceClient(service).json("/report?from=last-week&to=today");
                checkReport(report, hours, detached);
                checkPage(window.open("#/report"), hours, detached);
                await().until(() -> mail.getReceivedMessages().length == 1);
                checkMail(mail.getReceivedMessages()[0].getContent().toString(), hours, detached);
            }
        }
    }

    /**
     * Alice computes on GPU 0 and holds GPU 1, which is reclaimed. Bob holds GPU 2, and computes there for a part of the day. Carol computes on
     * GPU 3, which she does not hold.
     */
    private void observeADay() throws IOException {
        node.gpus.gpus(UTILIZATION.size()).status(status());
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
            var service = start();
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

    private static String status() {
        var lines = new StringBuilder();
        for (var index = 0; index < UTILIZATION.size(); index++) {
            lines.append("%d, 0, 16384, 60, %s, 120.00, NVIDIA RTX A4000\n".formatted(index, UTILIZATION.get(index)));
        }
        return lines.toString();
    }

    private static int uid(String user) {
        return USERS.getOrDefault(user, 0);
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

    private Node.Service start() throws IOException {
        var service = node.start();
        await().until(() -> service.port() > 0 || !service.process().isAlive());
        return service;
    }

    /** Waits until the service has observed this part of the day. */
    private static void awaitPart(ServiceClient client, double part) {
        var time = SATURDAY.plusMillis((long) (part * DAY.toMillis()));
        await().atMost(HANG.plus(DAY.dividedBy(50)))
                .until(() -> !Instant.parse(
                                client.json("/status").path("last_cycle_at").asText())
                        .isBefore(time));
    }

    /**
     * Adds up the columns of each user from the pictures of the database, without code of the service. The mark is the time that counts, so a
     * picture counts until the mark of the next one. That is the time that passed, up to a cycle. The last one shows no use.
     */
    private static Map<String, double[]> countHours(Connection database) throws Exception {
        var hours = new TreeMap<String, double[]>();
        try (var rows = database.createStatement().executeQuery("""
                SELECT observation.mark, observation.data, base.data, observation.at FROM observation
                LEFT JOIN observation AS base ON base.id = observation.base ORDER BY observation.id""")) {
            JsonNode picture = JSON.missingNode();
            var mark = 0L;
            var at = 0L;
            while (rows.next()) {
                var time = rows.getLong(1) - mark;
                assertThat(time).isLessThanOrEqualTo(rows.getLong(4) - at + MOST_OF_A_CYCLE.toMillis());
                addHours(hours, picture.path("snapshot"), time / 3.6e6);
                mark = rows.getLong(1);
                at = rows.getLong(4);
                var base = rows.getBytes(3);
                var dictionary = base == null ? new byte[0] : inflate(base, new byte[0]);
                picture = JSON.readTree(inflate(rows.getBytes(2), dictionary));
            }
            assertThat(picture.at("/snapshot/processes")).isEmpty();
            assertThat(picture.findValues("attachments")).allMatch(JsonNode::isEmpty);
        }
        return hours;
    }

    /** Pictures below 16 KiB are one block. */
    private static byte[] inflate(byte[] data, byte[] dictionary) throws DataFormatException {
        var inflater = new Inflater(true);
        inflater.setDictionary(dictionary);
        inflater.setInput(data);
        var picture = new byte[16 << 10];
        var length = inflater.inflate(picture);
        assertThat(inflater.finished()).isTrue();
        assertThat(inflater.getRemaining()).isZero();
        inflater.end();
        return Arrays.copyOf(picture, length);
    }

    private static void addHours(Map<String, double[]> hours, JsonNode snapshot, double time) {
        for (var missing : snapshot.path("missing")) {
            if (PARTS.contains(missing.asText().toLowerCase(Locale.ROOT))) {
                return; // time without them does not count
            }
        }
        var names = new HashMap<String, String>();
        snapshot.path("environments").forEach(environment -> {
            var name = environment.path("username").asText();
            names.put(environment.path("uid").asText(), name);
            names.put(environment.path("eid").asText(), name);
        });
        var held = new HashSet<String>();
        var present = new HashSet<String>();
        snapshot.path("devices")
                .forEach(device -> device.path("attachments")
                        .forEach(attachment ->
                                held.add(names.get(attachment.path("eid").asText()) + " "
                                        + device.path("index").asText())));
        snapshot.path("processes")
                .forEach(process -> process.path("usage")
                        .forEach(
                                use -> present.add(names.get(process.path("uid").asText()) + " "
                                        + use.path("device").asText())));
        var both = new HashSet<>(held);
        both.addAll(present);
        for (var use : both) {
            var percent = UTILIZATION.get(Integer.parseInt(use.split(" ", -1)[1]));
            var isHeld = held.contains(use);
            var isPresent = present.contains(use);
            var columns = hours.computeIfAbsent(use.split(" ", -1)[0], _ -> new double[COLUMNS.size()]);
            var applies = new boolean[] {
                isHeld,
                isPresent,
                isPresent && !percent.equals("0") && !percent.equals("[N/A]"),
                isPresent && percent.equals("[N/A]"),
                isPresent ? percent.equals("0") : isHeld,
                isPresent && !isHeld,
            };
            for (var column = 0; column < applies.length; column++) {
                columns[column] += applies[column] ? time : 0;
            }
        }
    }

    private static long number(Connection database, String sql) throws SQLException {
        try (var rows = database.createStatement().executeQuery(sql)) {
            return rows.getLong(1);
        }
    }

    private void checkReport(JsonNode report, Map<String, double[]> hours, long detached) {
        assertThat(report.path("users")).hasSameSizeAs(hours.keySet());
        for (var row : report.path("users")) {
            var values = COLUMNS.stream()
                    .map(column -> row.path(column + "_device_hours").asText());
            check(row.path("user").asText(), values.toList(), hours, 1e-4);
        }
        assertThat(report.at("/users/0/user").asText()).isEqualTo("alice");
        assertThat(report.at("/users/0/detachments").asLong()).isEqualTo(detached);
    }

    /** The columns of the page: held, with a process, computing, idle, unknown, not attached. */
    private void checkPage(Window window, Map<String, double[]> hours, long detached) {
        window.link("Last 7 days").click();
        var rows = window.page().locator("#report table").first().locator("tbody tr");
        assertThat(rows).hasCount(hours.size());
        for (var row : rows.all()) {
            var cells = row.locator("th, td").allInnerTexts();
            check(cells.getFirst(), select(cells, 1, 2, 3, 5, 4, 6), hours, 0.005);
            if (cells.getFirst().equals("alice")) {
                assertThat(cells.getLast()).isEqualTo(Long.toString(detached));
            }
        }
    }

    /** The columns of the mail: held, unattached, used, unknown, idle. */
    private void checkMail(String text, Map<String, double[]> hours, long detached) {
        for (var user : hours.keySet()) {
            var cells =
                    List.of(text.substring(text.indexOf("\n" + user + " ") + 1).split("\\s+", 7));
            check(user, select(cells, 1, NOT_SHOWN, 3, 4, 5, 2), hours, 0.05);
        }
        assertThat(text).containsPattern("alice +idle-devices +\\d+ +0 +%d\\s".formatted(detached));
    }

    private static List<String> select(List<String> cells, int... columns) {
        return Arrays.stream(columns)
                .mapToObj(column -> column == NOT_SHOWN ? "NaN" : cells.get(column))
                .toList();
    }

    /** Compares the values that are shown, in the order of {@link #COLUMNS}, up to their rounding. */
    private void check(String user, List<String> shown, Map<String, double[]> hours, double rounding) {
        var values = shown.stream().mapToDouble(Double::parseDouble).toArray();
        var expected = requireNonNull(hours.get(user), user).clone();
        if (!isUtilizationKnown) {
            for (var columns : List.of(values, expected)) {
                columns[USED] += columns[UNKNOWN];
                columns[UNKNOWN] = Double.NaN;
            }
        }
        for (var column = 0; column < values.length; column++) {
            if (!Double.isNaN(values[column])) {
                assertThat(values[column])
                        .as("%s %s", user, COLUMNS.get(column))
                        .isCloseTo(expected[column], within(2 * rounding));
            }
        }
    }
}
