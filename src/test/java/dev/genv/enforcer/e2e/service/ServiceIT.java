package dev.genv.enforcer.e2e.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The packaged program as a service that runs cycles. */
class ServiceIT extends NodeSuite {

    /** Every user could exchange what is in a folder of Vert.x, and root would empty it. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void makesNoFolderForTemporaryFiles(boolean nameIsTaken) throws IOException {
        var folder = Files.createDirectory(directory.resolve("temporary"));
        var present = nameIsTaken ? List.of(Files.createFile(folder.resolve("vertx-cache"))) : List.<Path>of();
        var service = node.setTemporaryFolder(folder).startService();
        awaitCompleteObservation(service);

        for (var path : List.of("/", "/page/main.js", "/violations", "/q/openapi", "/q/metrics")) {
            assertThat(new ServiceClient(service).status(path)).as(path).isEqualTo(200);
        }
        assertThat(filesOf(folder)).containsExactlyElementsOf(present);
        service.stop();
        assertThat(filesOf(folder)).containsExactlyElementsOf(present);
    }

    private static List<Path> filesOf(Path folder) throws IOException {
        try (var files = Files.list(folder)) {
            return files.toList();
        }
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

    /** Otherwise one slow nvidia-smi would block the shells of all users. */
    @Test
    void doesNotHoldGenvsLockWhileNvidiaSmiRuns() throws IOException {
        Requirements.program("/usr/bin/flock", "util-linux");
        var taken = directory.resolve("taken");
        node.state.device(0).device(1).device(2).write();
        node.set("GPU_TIMEOUT", "1h")
                .gpus
                .fault("flock %s touch %s".formatted(node.stateDirectory.resolve("genv.lock"), taken));

        awaitCompleteObservation(node.startService());

        assertThat(taken).exists();
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

    /** Without root the service lacks privileges and is not ready. */
    private static void awaitCompleteObservation(Node.Service service) throws IOException {
        var client = new ServiceClient(service);
        var ready = CurrentProcess.hasRequiredCapabilities() ? 200 : 503;
        await().until(() -> client.status("/q/health/ready") == ready
                && client.observe().status().equals("ok"));
    }
}
