package dev.genv.enforcer.e2e.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.MemoryCgroup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The packaged service with a database and the heap of the image, with clients that request large answers and do not read them, while
 * users write other large state files in every cycle. It stays below the memory limit of the chart, also when it reads its database,
 * and the database keeps its size.
 */
@Tag("long")
class MemoryIT extends NodeSuite {
    private static final int CLIENTS = 40;
    private static final int PIPELINING = 60;
    private static final int PIPELINED = 2_000;
    private static final int CYCLES = 5;
    private static final long MAX_BYTES = 256 << 20;

    /** Paths of the same resource. */
    private static final List<String> SNAPSHOTS = List.of("/snapshot", "/snapshot/", "/snapshot;x=1", "/snapshot/;x");

    private final List<Socket> clients = new ArrayList<>();
    private Path data;

    @AfterEach
    void disconnect() throws IOException {
        for (var client : clients) {
            client.close();
        }
    }

    /** Users with long names have a violation in every cycle that is over in the next one. */
    @ParameterizedTest
    @CsvSource({"12000, 0, 100", "1300, 4000, 1"})
    void survivesLargeStatesThatAreReplacedInEachCycle(int environments, int nameLength, int quota) throws IOException {
        Requirements.root();
        data = node.addDatabase();
        node.set("MODE", "audit").set("MAX_DEVICES_PER_USER", quota);
        try (var shell = Child.ofUser(TestUsers.ATTACKER_UID)) {
            write(0, environments, nameLength, shell);
            var service = node.startService();
            awaitEnvironments(service, environments);
            for (var cycle = 1; cycle <= CYCLES; cycle++) {
                for (var client = 0; client < CLIENTS; client++) {
                    sendRequest(service.port(), SNAPSHOTS.get(client % SNAPSHOTS.size()));
                    sendRequest(service.port(), "/violations?limit=1000");
                }
                write(cycle, environments, nameLength, shell);
                awaitEnvironments(service, environments);
            }
            check(service);
            service.kill();
            service = node.startService();
            awaitEnvironments(service, environments);
            check(service);
        }
    }

    /** Environments of a user each. The name of each user begins with the cycle. */
    private void write(int cycle, int environments, int nameLength, Child shell) throws IOException {
        var eids = IntStream.range(0, environments)
                .mapToObj(user -> "%d-%d".formatted(cycle, user))
                .toArray(String[]::new);
        var name = "\u20ac" + "x".repeat(nameLength);
        for (var eid : eids) {
            node.state.env(eid, TestUsers.ATTACKER_UID, eid + name, null, shell.pid());
        }
        node.state.device(0, eids).device(1, eids).device(2).write();
        for (var eid : eids) {
            node.state.withoutEnv(eid);
        }
    }

    /** Waits for a whole cycle after the present state was written. Answers can be late under this load, so requests are repeated. */
    private static void awaitEnvironments(Node.Service service, int environments) throws IOException {
        var client = new ServiceClient(service);
        var observed = new HashSet<String>();
        await().ignoreExceptions().until(() -> {
            observed.add(client.observe().time());
            return observed.size() > 2
                    && client.json("/hosts").path(0).path("environments").asInt() == environments;
        });
    }

    private void check(Node.Service service) throws IOException {
        assertThat(service.process().isAlive()).as("%s", service.outputLines()).isTrue();
        assertThat(service.peakMemory()).as("resident MiB").isLessThan(Node.memoryLimit());
        var client = new ServiceClient(service);
        // The clients are still connected.
        for (var path : List.of("/snapshot", "/violations")) {
            await(path).ignoreExceptions().until(() -> client.status(path) == 200);
        }
        assertThat(client.observe().problems()).noneMatch(code -> code.startsWith("data"));
        try (var files = Files.list(data)) {
            assertThat(files.mapToLong(file -> file.toFile().length()).sum()).isLessThan(MAX_BYTES);
        }
    }

    @Test
    void survivesClientsThatPipelineWithoutReading() throws Exception {
        var service = node.startService();
        var serviceClient = new ServiceClient(service);
        try (var metrics = pipeline(service, "/q/metrics");
                var hosts = pipeline(service, "/hosts")) {
            metrics.awaitFloodsClosed();
            hosts.awaitFloodsClosed();
        }
        assertThat(service.process().isAlive()).as("%s", service.outputLines()).isTrue();
        for (var path : List.of("/q/health/live", "/hosts")) {
            await(path).ignoreExceptions().until(() -> serviceClient.status(path) == 200);
        }
        assertThat(service.peakMemory()).as("resident MiB").isLessThan(Node.memoryLimit());
    }

    private static SlowClients pipeline(Node.Service service, String path) throws IOException {
        var request = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n".formatted(path);
        return new SlowClients(service.portOf(path), PIPELINING, "").flood(request.repeat(PIPELINED));
    }

    private void sendRequest(int port, String path) throws IOException {
        var client = new Socket(InetAddress.getLoopbackAddress(), port);
        clients.add(client);
        var request = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n".formatted(path);
        client.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
    }

    private static final int READERS = 64;

    private static final Duration ATTACK = IS_LONG ? Duration.ofMinutes(10) : Duration.ofSeconds(40);
    /** The sockets of clients that do not read, which cgroups of version 1 do not count, and some more. */
    private static final int RESERVE = 128;

    private static final List<String> LARGE = List.of(
            "/snapshot",
            "/violations?limit=1000",
            "/users",
            "/report",
            "/report?format=csv",
            "/hosts",
            "/q/metrics",
            "/q/openapi");

    /**
     * In a cgroup as that of the chart's pod, while a user writes another large state in every cycle. Every process of the machine can be such
     * a client.
     */
    @Test
    @Timeout(3600)
    void slowReadersOfOneAddressDoNotHaveThePodKilled() throws Exception {
        Requirements.root();
        node.addDatabase();
        node.set("MODE", "audit").set("MAX_DEVICES_PER_USER", 1);
        try (var pod = MemoryCgroup.create((Node.memoryLimit() - RESERVE) << 20);
                var shell = Child.ofUser(TestUsers.ATTACKER_UID)) {
            write(0, 1300, 4000, shell);
            var service = node.launchWith(pod.launcher()).startService();
            var client = new ServiceClient(service);
            var requests = new ArrayList<SlowReaders.Request>();
            for (var path : LARGE) {
                requests.add(new SlowReaders.Request(service.portOf(path), head("GET " + path) + "\r\n"));
                for (var plan = 0; plan < 3; plan++) {
                    requests.add(new SlowReaders.Request(service.port(), planOfAlmostTheLargestSize()));
                }
            }
            var latencies = new ArrayList<Long>();
            try (var readers = new SlowReaders(READERS, requests)) {
                var end = System.nanoTime() + ATTACK.toNanos();
                for (var cycle = 1; System.nanoTime() - end < 0; cycle++) {
                    write(cycle, 1300, 4000, shell);
                    for (var probe = 0; probe < 4; probe++) {
                        Thread.sleep(250);
                        var begin = System.nanoTime();
                        assertThat(client.status("/q/health/live")).isEqualTo(200);
                        latencies.add((System.nanoTime() - begin) / 1_000_000);
                    }
                }
                await().until(() -> readers.responses(200) > 0 && readers.responses(503) > 0);
            } finally {
                System.out.printf(
                        "MemoryIT: slow readers, %d kills, peak %d MiB, health after ms: %s%n",
                        pod.kills(),
                        service.process().isAlive() ? service.peakMemory() : 0,
                        latencies.stream().mapToLong(each -> each).summaryStatistics());
            }
            assertThat(pod.kills()).isZero();
            assertThat(service.process().isAlive())
                    .as("%s", service.outputLines())
                    .isTrue();
            for (var path : List.of("/snapshot", "/violations", "/hosts", "/q/metrics")) {
                await(path).ignoreExceptions().until(() -> client.status(path) == 200);
            }
            service.kill();
        }
    }

    private static String head(String request) {
        return request + " HTTP/1.1\r\nHost: localhost\r\n";
    }

    /** A small request with an answer of nearly 4 MiB: each of these violations names the user. */
    private static String planOfAlmostTheLargestSize() {
        var body = """
            {"policy": {"env_devices": true}, "snapshots": {"h": {"processes": {"processes": [%s]}, "envs": {"envs": [%s]},
             "devices": {"devices": [{"index": 0, "attachments": []}]}}}}
            """.formatted(repeat(process("#", 1, "a"), 920), environment("a", "u".repeat(4000)));
        return head("POST /plan")
                + "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s".formatted(body.length(), body);
    }

    /** A body that is too large is refused before its end. Then the client may see the end of the connection first. */
    private static final int DISCONNECTED = 0;

    private static final int MAX_BODY_LENGTH = 15 << 20;

    /** While cycles run. */
    @Test
    @Timeout(1800)
    void noPlanRequestExhaustsTheMemory() throws Exception {
        var service = node.startService();
        var serviceClient = new ServiceClient(service);
        var statuses = new TreeMap<String, List<Integer>>();
        try (var clients = Executors.newFixedThreadPool(4)) {
            for (var shape : hostileBodies().entrySet()) {
                var before = serviceClient.observe();
                var answers = new ArrayList<Future<Integer>>();
                // Some are just small enough for an answer, others are always refused.
                for (var count = 4000; count <= 400_000; count = count * 3 / 2) {
                    var body = shape.getValue().apply(count);
                    if (body.length() > MAX_BODY_LENGTH) {
                        break;
                    }
                    answers.add(clients.submit(() -> post(service.port(), body)));
                }
                for (var answer : answers) {
                    statuses.computeIfAbsent(shape.getKey(), _ -> new ArrayList<>())
                            .add(answer.get());
                }
                assertThat(service.process().isAlive()).as("after %s", statuses).isTrue();
                serviceClient.awaitNext(before);
            }
        }
        System.out.printf("MemoryIT: plans, peak %d MiB; %s%n", service.peakMemory(), statuses);
        assertThat(statuses.values()).allSatisfy(all -> assertThat(all).isSubsetOf(200, 400, 413, DISCONNECTED));
        assertThat(service.peakMemory()).as("resident MiB at most").isLessThan(Node.memoryLimit());
        assertThat(serviceClient.status("/q/health/live")).isEqualTo(200);
    }

    private static int post(int port, String body) throws IOException, InterruptedException {
        var head = "POST /plan HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
                + "Content-Length: %d\r\n\r\n".formatted(body.length());
        var status = new RawHttp(port).send(head + body).status();
        while (status == 503) { // JUnit's timeout ends it
            Thread.sleep(100);
            status = new RawHttp(port).send(head + body).status();
        }
        return status;
    }

    private static final String POLICY = """
        {"policy": {"rules": {"non-env-processes": "enforce", "env-devices": "enforce", "env-memory": "enforce",
         "inactive-env-processes": "enforce"}, "max_devices": {"default": 0}}, "snapshots": {"h": {\
        """;

    /** Bodies for {@code POST /plan} that are small and take much memory, by their content, created from a number of entries. */
    private static Map<String, IntFunction<String>> hostileBodies() {
        var nested = "[".repeat(60) + "]".repeat(60);
        var longField = "\"#" + "n".repeat(4000) + "\":0";
        return Map.of(
                "empty arrays", count -> array("[]", count),
                "nested arrays", count -> array(nested, count),
                "long field names", count -> "{\"snapshots\":{" + repeat(longField, count / 100 + 1) + "}}",
                "long numbers", count -> array("9".repeat(1000), count / 100 + 1),
                "processes on many devices",
                        count -> snapshot(repeat(process("#", 3, "a"), count), environment("a", "u".repeat(4096)), 256),
                "environments",
                        count ->
                                snapshot(repeat(process("#", 1, "#"), count), repeat(environment("#", "#"), count), 1));
    }

    private static String array(String element, int count) {
        return "{\"snapshots\":[" + repeat(element, count) + "]}";
    }

    private static String process(String pid, int devices, String eid) {
        var usages = IntStream.range(0, devices)
                .mapToObj("{\"index\":%d,\"gpu_memory\":\"9mi\"}"::formatted)
                .collect(Collectors.joining(","));
        return "{\"pid\":%s,\"used_gpu_memory\":[%s],\"eid\":\"%s\"}".formatted(pid, usages, eid);
    }

    private static String environment(String eid, String user) {
        return """
            {"eid": "%s", "uid": 1000, "creation": "", "username": "%s", "config": {"gpu_memory": "1mi"}, "pids": []}\
            """.formatted(eid, user);
    }

    private static String snapshot(String processes, String environments, int devices) {
        return POLICY
                + "\"processes\":{\"processes\":[" + processes + "]},\"envs\":{\"envs\":[" + environments
                + "]},\"devices\":{\"devices\":["
                + repeat("{\"index\":#,\"attachments\":[{\"eid\":\"a\"}]}", devices)
                + "]}}}}";
    }

    /** Repeats the text, each time with another number in place of the sign. */
    private static String repeat(String text, int count) {
        return IntStream.range(0, count)
                .mapToObj(Integer::toString)
                .map(number -> text.replace("#", number))
                .collect(Collectors.joining(","));
    }
}
