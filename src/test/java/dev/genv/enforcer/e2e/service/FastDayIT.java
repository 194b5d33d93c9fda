package dev.genv.enforcer.e2e.service;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static java.util.Objects.requireNonNull;
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
import dev.genv.enforcer.testsupport.linux.FakeClock;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The packaged service at 100 times the speed: libfaketime accelerates its clocks and its waits, and not those of its children. The report
 * must have the hours between the changes that the test makes, and the page and the mail those of the report.
 */
@Tag("long")
class FastDayIT extends NodeSuite {
    private static final Instant SATURDAY = Instant.parse("2026-11-28T00:00:00Z");
    /** A whole day takes a quarter of an hour. */
    private static final Duration DAY = Duration.ofMinutes(repetitions(120, 1440));

    private static final Duration INTERVAL = Duration.ofMinutes(3);
    private static final Duration MOST_OF_A_CYCLE = INTERVAL.multipliedBy(2);

    private static final Map<String, Integer> USERS = Map.of("alice", 54_011, "bob", 54_012, "carol", 54_013);
    /** Of each device, in percent. MIG has none. */
    private static final List<String> UTILIZATION = List.of("90", "0", "[N/A]", "50");

    private static final List<String> COLUMNS = List.of("held", "present", "used", "unknown", "idle", "unattached");
    private static final int HELD = 0;
    private static final int USED = 2;
    private static final int UNKNOWN = 3;
    private static final int IDLE = 4;
    private static final int UNATTACHED = 5;
    private static final int NOT_SHOWN = -1;

    /** On a slow machine the service kills nvidia-smi when it asks for the utilization, which is unknown then. */
    private boolean isUtilizationKnown;

    /** A change was first observed between these instants of the service. */
    private record Moment(Instant earliest, Instant latest) {}

    /** In hours. */
    private double lost;

    private FakeClock clock;
    private final List<Moment> moments = new ArrayList<>();

    /** Bounds of a number of hours. */
    private record Hours(double least, double most) {
        static final Hours NONE = new Hours(0, 0);

        Hours plus(Hours other) {
            return new Hours(least + other.least, most + other.most);
        }
    }

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
    void reportPageAndMailHaveTheHoursBetweenTheChanges() throws Exception {
        Requirements.rootWithCapabilities();
        var data = node.addDatabase();
        clock = new FakeClock(directory);
        clock.variables().forEach(node::variable);
        node.set("INTERVAL", INTERVAL.toMinutes() + "m")
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
            observeADay(data);

            clock.set("2026-11-30 08:01:00", 1); // the mail was due a minute before
            node.setStoreLimit(HANG);
            var service = start();
            try (var database = DriverManager.getConnection("jdbc:sqlite:" + data.resolve("enforcer.db"));
                    var window = new Window(chromium, service.port(), chromium.window())) {
                var detached =
                        number(database, "SELECT COUNT(*) FROM action WHERE user = 'alice' AND outcome = 'detached'");
                assertThat(detached).isPositive();
                var report = new ServiceClient(service).json("/report?from=last-week&to=today");
                var hours = checkReport(report, detached);
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
    private void observeADay(Path data) throws Exception {
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
            clock.set("2026-11-28 00:00:00", 1);
            node.setStoreLimit(DAY.multipliedBy(10));
            var service = start();
            var client = new ServiceClient(service);
            client.awaitObservation();
            clock.set("2026-11-28 00:00:00", 100);
            client.awaitNext(client.observe());
            moments.add(new Moment(SATURDAY, lastCycle(client)));

            awaitChange(client, () -> {}, snapshot -> attachments(snapshot) == 2);
            awaitPart(client, 0.4);
            awaitChange(
                    client,
                    () -> node.gpus.process(3, carols.pid(), "1024"),
                    snapshot -> pids(snapshot).contains(Long.toString(carols.pid())));
            awaitPart(client, 0.6);
            awaitChange(
                    client,
                    () -> node.gpus.retain(line -> !line.contains(", " + bobs.pid() + ",")),
                    snapshot -> !pids(snapshot).contains(Long.toString(bobs.pid())));
            awaitPart(client, 0.8);
            awaitChange(
                    client,
                    () -> {
                        node.gpus.noProcesses();
                        node.state.device(0).device(1).device(2).writeDevices();
                    },
                    snapshot -> attachments(snapshot) == 0 && pids(snapshot).isEmpty());
            service.stop();
            lost = lost(data);
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

    private Node.Service start() throws IOException {
        var service = node.start();
        await().until(() -> service.port() > 0 || !service.process().isAlive());
        return service;
    }

    /** Waits until the service has observed this part of the day. */
    private static void awaitPart(ServiceClient client, double part) {
        var time = SATURDAY.plusMillis((long) (part * DAY.toMillis()));
        await().atMost(HANG.plus(DAY.dividedBy(50)))
                .until(() -> !lastCycle(client).isBefore(time));
    }

    private static Instant lastCycle(ServiceClient client) throws IOException {
        return Instant.parse(client.json("/status").path("last_cycle_at").asText());
    }

    private static long attachments(JsonNode snapshot) {
        return snapshot.findValues("attachments").stream()
                .mapToLong(JsonNode::size)
                .sum();
    }

    private static List<String> pids(JsonNode snapshot) {
        return snapshot.findValuesAsText("pid");
    }

    private interface Change {
        void make() throws IOException;
    }

    /** Makes a change, and waits until the service has observed it and begun another cycle. */
    private void awaitChange(ServiceClient client, Change change, Predicate<JsonNode> isShown) throws IOException {
        var earliest = new AtomicReference<>(lastCycle(client));
        change.make();
        await().atMost(HANG.plus(DAY.dividedBy(50))).until(() -> {
            var last = lastCycle(client);
            var isOver = isShown.test(client.json("/snapshot"));
            earliest.updateAndGet(known -> isOver ? known : last);
            return isOver;
        });
        client.awaitNext(client.observe());
        moments.add(new Moment(earliest.get(), lastCycle(client)));
    }

    /** Returns how many hours did not count at most: a cycle after a longer time than two intervals counts only these. */
    private static double lost(Path data) throws SQLException {
        try (var database = DriverManager.getConnection("jdbc:sqlite:" + data.resolve("enforcer.db"))) {
            var last = number(
                    database, "SELECT 1000 * unixepoch(value ->> '$.at', 'subsec') FROM meta WHERE key = 'cycle'");
            var counted = number(database, "SELECT SUM(time) FROM observed");
            var most =
                    Duration.ofMillis(last - SATURDAY.toEpochMilli() - counted).plus(MOST_OF_A_CYCLE);
            return Math.max(0, hours(most));
        }
    }

    private static double hours(Duration time) {
        return time.toMillis() / 3.6e6;
    }

    private Hours between(int begin, int end) {
        var from = moments.get(begin);
        var to = moments.get(end);
        return new Hours(
                Math.max(0, hours(Duration.between(from.latest, to.earliest)) - lost),
                hours(Duration.between(from.earliest, to.latest)));
    }

    /** Returns bounds of each column. The moments are: begin, GPU 1 is detached, Carol begins, Bob ends, end. */
    private Map<String, List<Hours>> bounds() {
        var all = between(0, 4);
        var carol = between(2, 4);
        var bob = between(0, 3);
        var none = Hours.NONE;
        return Map.of(
                "alice", List.of(all.plus(between(0, 1)), all, all, none, between(0, 1), none),
                "bob", List.of(all, bob, none, bob, between(3, 4), none),
                "carol", List.of(none, carol, carol, none, none, carol));
    }

    private static long number(Connection database, String sql) throws SQLException {
        try (var rows = database.createStatement().executeQuery(sql)) {
            return rows.getLong(1);
        }
    }

    /** Returns the columns of each user. */
    private Map<String, double[]> checkReport(JsonNode report, long detached) {
        var hours = new TreeMap<String, double[]>();
        var bounds = bounds();
        for (var row : report.path("users")) {
            var user = row.path("user").asText();
            var values = COLUMNS.stream()
                    .mapToDouble(column -> row.path(column + "_device_hours").asDouble())
                    .toArray();
            hours.put(user, values);
            var most = requireNonNull(bounds.get(user), user);
            for (var column = 0; column < values.length; column++) {
                if (isUtilizationKnown || (column != USED && column != UNKNOWN)) {
                    assertThat(values[column])
                            .as("%s %s", user, COLUMNS.get(column))
                            .isBetween(most.get(column).least, most.get(column).most);
                }
            }
            assertThat(values[HELD] + values[UNATTACHED])
                    .isCloseTo(values[USED] + values[UNKNOWN] + values[IDLE], within(1e-3));
        }
        assertThat(hours).containsOnlyKeys(USERS.keySet());
        assertThat(report.at("/users/0/user").asText()).isEqualTo("alice");
        assertThat(report.at("/users/0/detachments").asLong()).isEqualTo(detached);
        return hours;
    }

    /** The columns of the page: held, with a process, computing, idle, unknown, not attached. */
    private static void checkPage(Window window, Map<String, double[]> hours, long detached) {
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
    private static void checkMail(String text, Map<String, double[]> hours, long detached) {
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
    private static void check(String user, List<String> shown, Map<String, double[]> hours, double rounding) {
        var expected = requireNonNull(hours.get(user), user);
        for (var column = 0; column < expected.length; column++) {
            var value = Double.parseDouble(shown.get(column));
            if (!Double.isNaN(value)) {
                assertThat(value)
                        .as("%s %s", user, COLUMNS.get(column))
                        .isCloseTo(expected[column], within(2 * rounding));
            }
        }
    }
}
