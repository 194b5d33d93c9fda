package dev.genv.enforcer.e2e.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.NotifyReceiver;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.sse.SseClient;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The packaged program as a service that runs cycles. */
class ServiceIT extends NodeSuite {

    /**
     * Every user could exchange what is in a folder of Vert.x, and root would empty it. If the service held genv's lock meanwhile, one slow
     * nvidia-smi would block the shells of all users.
     */
    @Test
    void notifiesSystemdMakesNoTemporaryFolderAndHoldsNoLockWhileNvidiaSmiRuns() throws IOException {
        Requirements.program("/usr/bin/flock", "util-linux");
        var socket = directory.resolve("notify").toString();
        var taken = directory.resolve("taken");
        var folder = Files.createDirectory(directory.resolve("temporary"));
        Files.createFile(folder.resolve("vertx-cache"));
        node.state.device(0).device(1).device(2).write();
        node.gpus.fault("flock %s touch %s".formatted(node.stateDirectory.resolve("genv.lock"), taken));
        try (var manager = new NotifyReceiver(socket, directory.resolve("messages"))) {
            var service = node.setTemporaryFolder(folder)
                    .variable("NOTIFY_SOCKET", socket)
                    .variable("WATCHDOG_USEC", "1")
                    .startService();
            var client = new ServiceClient(service);
            var ready = CurrentProcess.hasRequiredCapabilities() ? 200 : 503; // without root it lacks privileges
            await().until(() -> client.status("/q/health/ready") == ready
                    && client.observe().status().equals("ok"));
            assertThat(taken).exists();
            await().until(() -> manager.messages().contains("READY=1 WATCHDOG_USEC=103000000")
                    && Collections.frequency(manager.messages(), "WATCHDOG=1") > 1);
            assertThat(manager.messages()).doesNotContain("STOPPING=1");
            for (var path : List.of("/", "/page/main.js", "/violations", "/q/openapi", "/q/metrics")) {
                assertThat(client.status(path)).as(path).isEqualTo(200);
            }

            assertThat(folder.toFile().list()).containsExactly("vertx-cache");
            service.stop();
            await().until(() -> manager.messages().contains("STOPPING=1"));
            assertThat(folder.toFile().list()).containsExactly("vertx-cache");
        }
    }

    /** The tool of Prometheus reads them without a header, and warns of no metric of the service. */
    @Test
    void promtoolAcceptsTheMetrics() throws IOException {
        Requirements.program("/usr/bin/promtool", "prometheus");
        node.state.device(0).write();
        var client = new ServiceClient(node.startService());
        client.awaitObservation();
        var metrics = Files.writeString(directory.resolve("metrics"), client.metrics());
        var warnings = Programs.run("sh", "-c", "promtool check metrics <%s 2>&1 || [ $? = 3 ]".formatted(metrics));
        assertThat(warnings).doesNotContain("genv_");
        assertThat(client.metrics()).contains("\ngenv_enforcer_info{mode=\"enforce\",version=\"");
    }

    /** As systemd sets it: the name of the socket behind standard output. */
    @Test
    void everyLineForTheJournalHasAPriorityAndNoTime() throws IOException {
        node.launchWith("sh", "-c", "JOURNAL_STREAM=$(stat -L -c %d:%i /proc/$$/fd/1) exec \"$@\"", "sh");
        node.state.device(0).write();
        var service = node.variable("ENFORCER_MODE", "x").startService();
        new ServiceClient(service).awaitObservation();
        service.stop();
        assertThat(Files.readAllLines(service.out()))
                .allMatch(line -> line.matches("<[3467]>.*"))
                .anyMatch(line -> line.matches("<3>ERROR .*ENFORCER_MODE has no effect.*"))
                .noneMatch(line -> line.matches("<.>[0-9]{4}-.*"));
    }

    @Test
    void missingPrivilegeIsReportedEverywhere() throws IOException {
        Requirements.rootWithCapabilities();
        node.launchWith("setpriv", "--bounding-set=-kill").set("NON_ENV_PROCESSES", "enforce");
        try (var others = Child.ofUser(2001)) {
            node.gpus.process(0, others.pid(), "10");
            var service = node.startService();

            var client = new ServiceClient(service);
            await().until(() -> client.status("/q/health/ready") == 503
                    && client.json("/hosts").toString().contains("missing_privilege\""));
            assertThat(client.json("/hosts").at("/0/missing_privileges/0").asText())
                    .isEqualTo("KILL");
            assertThat(client.text("/q/health/ready")).contains("--cap-add KILL");
            assertThat(Files.readString(service.out())).contains("Missing privileges: KILL: ");
            assertThat(others.isAlive()).isTrue();
            assertThat(directory.toFile().list()).noneMatch(name -> name.startsWith("vertx"));
        }
    }

    @Test
    void finishesTheCurrentCycleBeforeItStops() throws IOException {
        try (var stray = Child.withEnvironment(Map.of())) {
            var looking = directory.resolve("looking");
            node.gpus.process(0, stray.pid(), "10").fault("[ -e %1$s ] || { touch %1$s; sleep 2; }".formatted(looking));
            node.set("NON_ENV_PROCESSES", "enforce").set("GRACE", "0s");
            var isAbandoned = true;
            for (var attempt = 0; isAbandoned && attempt < 10; attempt++) { // on a busy machine the stop comes first
                Files.deleteIfExists(looking);
                var service = node.startService();
                await().until(() -> Files.exists(looking));

                service.stop();

                isAbandoned = service.outputLines().stream().anyMatch(line -> line.contains("it is abandoned"));
                if (!isAbandoned) {
                    stray.awaitExit();
                    assertThat(Files.readString(service.out())).contains("outcome=signalled");
                }
            }
            assertThat(isAbandoned).isFalse();
        }
    }

    @Test
    void stopsInTimeWhileAnObservationHangs() throws IOException {
        var looking = directory.resolve("looking");
        node.set("GPU_TIMEOUT", "1h").gpus.fault("echo $$ >%s; exec sleep 3600".formatted(looking));
        var service = node.startService();
        await().until(() -> Files.exists(looking) && Files.size(looking) > 0);

        service.stop();
        var tool = Path.of("/proc", Files.readString(looking).strip());
        await().until(() -> !Files.exists(tool));
    }

    /** A pipe holds 64 KiB, and then every write to it blocks. */
    @Tag("long")
    @Timeout(600)
    @Test
    void cyclesContinueWhileNoProcessReadsTheLogAndNoLineIsLost() throws Exception {
        var pipe = Programs.fifo(directory.resolve("pipe"));
        try (var reader = new RandomAccessFile(pipe.toFile(), "rw")) {
            var service = node.launchWith("/bin/sh", "-c", "exec \"$@\" >%s".formatted(pipe), "sh")
                    .set("INTERVAL", "1s")
                    .set("NON_ENV_PROCESSES", "enforce")
                    .set("GRACE", "0s")
                    .start();
            awaitLine(reader, "Observing every");
            var pids = new ArrayList<Integer>();
            try (var _ = fill(pipe)) {
                for (var i = 0; i < 3; i++) {
                    pids.add(terminateStray());
                }
            }
            for (var pid : pids) {
                awaitLine(reader, "pid=%d ".formatted(pid));
            }
            try (var _ = fill(pipe)) {
                terminateStray();
                terminateStray();

                service.stop();
            }
        }
    }

    private static Child fill(Path pipe) throws IOException {
        return Child.running(
                List.of("/bin/sh", "-c", "exec cat /dev/zero >%s".formatted(pipe)), Map.of("PATH", "/usr/bin:/bin"));
    }

    private int terminateStray() throws IOException {
        try (var stray = Child.withEnvironment(Map.of())) {
            node.gpus.process(0, stray.pid(), "10");
            await().until(() -> !stray.isAlive());
            return stray.pid();
        }
    }

    private static void awaitLine(RandomAccessFile reader, String part) throws IOException {
        String line;
        do {
            line = reader.readLine();
        } while (line == null || !line.contains(part));
    }

    @Test
    void clientGetsTheEventsThatItMissedWhileTheServiceWasKilled() throws Exception {
        node.state.write();
        node.addDatabase();
        node.set("MODE", "audit").set("GRACE", "0s").set("NON_ENV_PROCESSES", "audit");
        try (var stray = Child.withEnvironment(Map.of())) {
            var service = node.startService();
            new ServiceClient(service).awaitObservation(); // the event of the start comes before it
            String known;
            try (var client = SseClient.connect(service.port(), "/events")) {
                await().until(() -> !client.lastId().isEmpty());
                known = client.lastId();
                node.gpus.process(0, stray.pid(), "10");
                assertThat(nextType(client)).isEqualTo("violation_opened");
                assertThat(nextType(client)).isEqualTo("action");
            }
            service.kill();
            service = node.startService();
            node.gpus.noProcesses();
            assertThat(typesAfter(service.port(), known, 4))
                    .containsExactly("violation_opened", "action", "service_started", "violation_resolved");
            service.kill();
            service = node.startService();
            assertThat(typesAfter(service.port(), known, 5))
                    .as("after two restarts")
                    .containsExactly(
                            "violation_opened", "action", "service_started", "violation_resolved", "service_started");
        }
    }

    /** Without problems, because a slow machine reaches time limits. */
    private static String nextType(SseClient client) throws Exception {
        var type = client.next().type();
        return type.startsWith("problem_") ? nextType(client) : type;
    }

    private static List<String> typesAfter(int port, String known, int count) throws Exception {
        var types = new ArrayList<String>();
        try (var client = SseClient.connect(port, "/events", "Last-Event-ID", known)) {
            while (types.size() < count) {
                types.add(nextType(client));
            }
        }
        return types;
    }
}
