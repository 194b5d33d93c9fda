package dev.genv.enforcer.e2e.service;

import static dev.genv.enforcer.testsupport.ScriptedReceiver.status;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.e2e.Node.Service;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.ScriptedReceiver;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.FakeClock;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The policy of the packaged service, for accounts of the machine and their primary groups. Each user has an environment with all devices, and a
 * job on device 0.
 */
class PolicyFileIT extends NodeSuite {
    private static final int DEVICES = 7;
    private static final String USUAL = "max_devices: {default: 2, users: {news: 7}}";
    private static final String MISTAKE = USUAL.replace("default: 2", "default: 0");
    private static final ObjectMapper JSON = new ObjectMapper();

    private final List<Child> children = new ArrayList<>();
    private final List<Child> jobs = new ArrayList<>();
    private Path file;
    private @Nullable Service service;

    @BeforeEach
    void setUp() throws IOException {
        Requirements.rootWithCapabilities();
        file = directory.resolve("policy.yaml");
        node.gpus.gpus(DEVICES);
        node.set("GRACE", "0s").set("NON_ENV_PROCESSES", "enforce").variable("TZ", "UTC");
    }

    @AfterEach
    void endChildren() {
        children.forEach(Child::close);
    }

    /** Groups have names, or numbers with a plus sign. */
    @Test
    void eachPrecedenceDecidesHowManyDevicesAUserKeeps() throws IOException {
        addUsers(DEVICES, "news", "games", "lp", "mail", "man", "backup");
        write("""
                rules: {max-devices-per-user: enforce}
                max_devices: {default: 1, groups: {games: 2, man: 2, mail: 1, backup: 1}, users: {lp: 3}}
                exceptions:
                  - {user: mail, max_devices: 4, until: 2100-01-01}
                  - {group: +%d, max_devices: 6, until: 2100-01-01, reason: a deadline}
                hours: [{days: Mon-Sun, from: "00:00", to: "00:00", max_devices: {groups: {man: 5}}}]
                """.formatted(id("-g", "backup")));
        var client = startWithFile("0s");
        var group = "+" + id("-g", "backup");
        var limits = Map.of("news", 1, "games", 2, "lp", 3, "mail", 4, "man", 5, "backup", 6);
        limits.forEach((user, limit) -> awaitHeld(client, user, limit));
        assertActs(); // the other cycles detach no more
        for (var user : limits.keySet()) {
            assertThat(held(client, user)).as(user).isEqualTo(limits.get(user));
        }
        assertThat(limits.keySet().stream().collect(Collectors.toMap(user -> user, user -> reason(client, user))))
                .isEqualTo(Map.of(
                        "news", "default",
                        "games", "group games",
                        "lp", "user lp",
                        "mail", "exception of user mail",
                        "man", "group man",
                        "backup", "exception of group " + group));
        assertThat(jobs).allMatch(Child::isAlive);
    }

    /** The test sets the clock of the service. */
    @Tag("long")
    @Test
    void anExceptionEndsAndAnHourBegins() throws IOException {
        var clock = new FakeClock(directory);
        clock.set("2026-12-01 10:00:00", 1); // a Tuesday
        clock.variablesOfWallClock().forEach(node::variable);
        addUsers(3, "news", "lp", "man");
        write("""
                rules: {max-devices-per-user: enforce}
                max_devices: {default: 2, users: {man: 3}}
                exceptions: [{user: lp, max_devices: 3, until: 2026-12-01T12:00}]
                hours: [{days: Mon-Fri, from: "20:00", to: "08:00", max_devices: {users: {man: 1}}}]
                """);
        var client = startWithFile("0s");
        awaitHeld(client, "news", 2);
        assertThat(held(client, "lp")).isEqualTo(3);
        assertThat(held(client, "man")).isEqualTo(3);
        assertThat(client.json("/policy").at("/next_change/at").asText()).isEqualTo("2026-12-01T12:00:00Z");

        clock.set("2026-12-01 12:00:00", 1);
        awaitHeld(client, "lp", 2);
        assertThat(held(client, "man")).isEqualTo(3);
        assertThat(client.json("/policy").at("/next_change/at").asText()).isEqualTo("2026-12-01T20:00:00Z");

        clock.set("2026-12-01 20:00:00", 1);
        awaitHeld(client, "man", 1);
        assertThat(held(client, "news")).isEqualTo(2);
        assertThat(jobs).allMatch(Child::isAlive);
    }

    @Test
    void aMistakeThatIsTakenBackCostsNobodyAnythingAndEverybodyConcernedIsWarned() throws IOException {
        addUsers(2, "games", "lp", "news");
        write(USUAL);
        var state = Files.readString(node.devicesJson());
        try (var receiver = new ScriptedReceiver(status(200))) {
            node.set("WEBHOOK_URL", "http://127.0.0.1:%d/hook".formatted(receiver.port()));
            node.set("MAX_DEVICES_PER_USER", 2).set("MAX_DEVICES_FOR_USER", "news=7");
            var client = startWithFile("15m");
            assertActs();

            write(MISTAKE);
            await().until(() -> warned(receiver).equals(Set.of("games", "lp")));
            for (var job : jobs.subList(0, 2)) {
                assertThat(client.awaitNextSignal(job.pid())).isEqualTo("policy_grace");
            }
            assertActs();
            assertThat(jobs).allMatch(Child::isAlive);

            write(USUAL);
            await().until(() -> client.json("/violations?status=active").isEmpty());
            assertActs();
            assertThat(warned(receiver)).containsExactly("games", "lp");
        }
        assertNothingIsLost(state);
    }

    /** In the end the same limit applies at once, so it is one that costs the jobs. */
    @Tag("long")
    @Test
    void aMistakeInTheVariablesIsTakenBackByAnotherRestart() throws IOException {
        addUsers(2, "games", "lp");
        var state = Files.readString(node.devicesJson());
        node.addDatabase();
        restart(2, "15m");
        assertActs();

        var client = restart(0, "15m");
        for (var job : jobs) {
            assertThat(client.awaitNextSignal(job.pid())).isEqualTo("policy_grace");
        }
        assertActs();
        assertThat(jobs).allMatch(Child::isAlive);

        restart(2, "15m");
        assertActs();
        assertNothingIsLost(state);

        restart(0, "0s");
        await().until(() -> jobs.stream().noneMatch(Child::isAlive));
    }

    /** What was observed depends on it, so the policy before the restart is no measure. */
    @Tag("long")
    @Test
    void afterARestartWithAnotherVariableThatNoFileHasEveryActionWaits() throws IOException {
        node.addDatabase();
        restart(2, "15m");
        assertActs();
        node.set("OVERWRITTEN_ENVIRON", "outside");
        var client = restart(2, "15m");
        var stray = startStray();
        assertThat(client.awaitNextSignal(stray.pid())).isEqualTo("policy_grace");
        assertThat(stray.isAlive()).isTrue();
    }

    /** Without the file the limit would be 0, and each job would be terminated at once. */
    @Tag("long")
    @Test
    void theLastGoodPolicyIsInForceWhileTheFileIsExchanged() throws Exception {
        addUsers(2, "games", "lp");
        write("max_devices: {default: 2}");
        var state = Files.readString(node.devicesJson());
        node.set("MAX_DEVICES_PER_USER", 0);
        var client = startWithFile("0s");
        var last = client.observe();
        var cycles = 0;
        for (var exchange = 0; exchange < 1000 || cycles < 10; exchange++) {
            exchange(exchange);
            var now = client.observe();
            cycles += now.time().equals(last.time()) ? 0 : 1;
            last = now;
        }
        replaceBy("max_devices: {default: x}");
        await().until(() -> client.text("/hosts").contains("line 1, column 24: max_devices.default: expected"));
        assertThat(client.observe().problems()).contains("policy_unreadable");
        assertActs();
        replaceBy("max_devices: {default: 77}");
        await().until(() -> client.json("/policy")
                .at("/policy/max_devices/default")
                .asText()
                .equals("77"));
        assertActs();
        assertThat(client.observe().problems()).doesNotContain("policy_unreadable");
        assertNothingIsLost(state);
    }

    private void exchange(int number) throws IOException {
        switch (number % 8) {
            case 0, 4 -> replaceBy("max_devices: {default: %d}".formatted(2 + number));
            case 1 -> replaceBy("max_devices: {default: x}");
            case 2 -> replaceBy("");
            case 3 -> replaceBy("x".repeat(1 << 20));
            case 5 -> Files.writeString(file, "max_devices: {default: 1"); // torn
            case 6 -> Programs.shell(directory, "rm -f policy.yaml; mkfifo policy.yaml");
            default -> Programs.shell(directory, "rm -f policy.yaml; ln -s /dev/zero policy.yaml");
        }
    }

    private void addUsers(int held, String... users) throws IOException {
        for (var user : users) {
            var uid = id("-u", user);
            var shell = add(Child.ofUser(uid));
            var job = add(Child.ofUser(uid, Map.of("GENV_ENVIRONMENT_ID", user)));
            jobs.add(job);
            node.state.env(user, uid, user, null, shell.pid());
            node.gpus.process(0, job.pid(), "10");
        }
        for (var index = 0; index < DEVICES; index++) {
            node.state.device(index, index < held ? users : new String[0]);
        }
        node.state.write();
    }

    private Child add(Child child) {
        children.add(child);
        return child;
    }

    /** Returns the uid or the gid of an account, which Debian and Ubuntu have on every machine. */
    private static long id(String what, String user) throws IOException {
        var accounts = Files.readAllLines(Path.of("/etc/passwd")).stream().map(line -> line.split(":", -1)[0]);
        Requirements.require(
                accounts.anyMatch(user::equals), "the account " + user, "run the build on Debian or Ubuntu");
        return Long.parseLong(Programs.run("id", what, user).strip());
    }

    /** Replaces the file at once, by one that nobody seems to write to. */
    private void replaceBy(String yaml) throws IOException {
        var draft = Files.writeString(directory.resolve("draft"), yaml);
        Files.setLastModifiedTime(draft, FileTime.from(Instant.now().minus(Duration.ofHours(1))));
        Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Writes the file in place, as an editor may do. */
    private void write(String yaml) throws IOException {
        Files.writeString(file, yaml);
    }

    private ServiceClient startWithFile(String policyGrace) throws IOException {
        node.set("POLICY_FILE", file);
        return start(policyGrace);
    }

    /** Stops the service if it runs, and starts it with this limit as variable. */
    private ServiceClient restart(int limit, String policyGrace) throws IOException {
        if (service != null) {
            service.stop();
        }
        node.set("MAX_DEVICES_PER_USER", limit);
        return start(policyGrace);
    }

    private ServiceClient start(String policyGrace) throws IOException {
        service = node.set("POLICY_GRACE", policyGrace).startService();
        var client = new ServiceClient(service);
        client.awaitObservation();
        return client;
    }

    private static int held(ServiceClient client, String user) throws IOException {
        return client.json("/users/" + user).path("devices_held").asInt();
    }

    /** Returns why the user has the limit of devices. */
    private static String reason(ServiceClient client, String user) {
        try {
            return client.json("/users/" + user).at("/limits/0/because").asText();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void awaitHeld(ServiceClient client, String user, int devices) {
        await(user).untilAsserted(() -> assertThat(held(client, user)).as(user).isEqualTo(devices));
    }

    private Child startStray() throws IOException {
        var stray = add(Child.ofUser(id("-u", "mail")));
        node.gpus.process(1, stray.pid(), "10");
        return stray;
    }

    /** A whole cycle after this call acts where all policies ask for it. */
    private void assertActs() throws IOException {
        startStray().awaitExit();
    }

    private void assertNothingIsLost(String state) {
        assertThat(jobs).allMatch(Child::isAlive);
        assertThat(node.devicesJson()).content().isEqualTo(state);
    }

    private static Set<String> warned(ScriptedReceiver receiver) throws IOException {
        var users = new TreeSet<String>();
        for (var request : receiver.requests()) {
            var event = JSON.readTree(request.body());
            if (event.path("type").asText().endsWith(".warned.v1")
                    && event.at("/data/violation/rule").asText().equals("max-devices-per-user")) {
                users.add(event.at("/data/violation/user").asText());
            }
        }
        return users;
    }
}
