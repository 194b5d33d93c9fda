package dev.genv.enforcer.e2e.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import dev.genv.enforcer.e2e.Command;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What the packaged service records of the state and of its own actions, and what it does after a restart. */
@Tag("long")
class HistoryIT extends NodeSuite {
    private static final Map<String, String> PATH = Map.of("PATH", "/usr/bin:/bin");

    /** Longer than the tests. */
    private static final String LONG_GRACE = "10m";

    /** Many trainers take a first SIGTERM for "save, then end", and a second one for "at once". */
    @Test
    void signalledProcessIsSignalledOnlyOnceAfterARestart() throws IOException {
        var signals = directory.resolve("signals");
        var script = "trap 'echo term >>%s' TERM; while :; do sleep 0.05; done".formatted(signals);
        node.set("NON_ENV_PROCESSES", "enforce").set("KILL_AFTER", "never").set("GRACE", "0s");
        try (var stray = Child.running(List.of("/bin/sh", "-c", script), PATH)) {
            node.gpus.process(0, stray.pid(), "10");
            var first = node.startService();
            await().until(() -> Files.exists(signals) && Files.size(signals) > 0);
            first.stop();

            var serviceClient = new ServiceClient(node.set("GRACE", LONG_GRACE).startService());
            awaitCycles(serviceClient, stray, 4);

            assertThat(signals).hasContent("term");
            assertThat(violationOf(serviceClient, stray).path("actions").findValuesAsText("outcome"))
                    .containsExactly("skipped_grace");
        }
    }

    /** An entry may be younger than a process that the first observation finds: its writer may have chosen the process. */
    @Test
    void strangerIsTerminatedOnlyIfItIsYoungerThanTheFirstObservation() throws IOException {
        Requirements.root();
        node.set("GRACE", "2s").set("ENV_OWNER", "off");
        try (var shell = Child.ofUser(TestUsers.HONEST_UID)) {
            var eid = Integer.toString(shell.pid());
            node.state
                    .env(eid, TestUsers.HONEST_UID, "bob", "1000mi", shell.pid())
                    .device(0, eid)
                    .device(1)
                    .device(2)
                    .write();
            var variables = Map.of("GENV_ENVIRONMENT_ID", eid);
            try (var older = Child.ofUser(TestUsers.ATTACKER_UID, variables)) {
                node.gpus.process(0, older.pid(), "1500");
                var serviceClient = new ServiceClient(node.startService());
                awaitCycles(serviceClient, older, 5);
                assertThat(older.isAlive()).isTrue();
                assertThat(violationOf(serviceClient, older).path("actions").findValuesAsText("outcome"))
                        .containsExactly("skipped_protected");
            }
            try (var younger = Child.ofUser(TestUsers.ATTACKER_UID, variables)) {
                node.gpus.noProcesses().process(0, younger.pid(), "1500");
                await().until(() -> !younger.isAlive());
            }
        }
    }

    /** The shell has exited, and the job runs. Another user adds the environment again with the job's own pid. */
    @Test
    void processIsProtectedWhenItsEndedEnvironmentReappears() throws IOException {
        Requirements.root();
        node.set("GRACE", "1s");
        try (var shell = Child.ofUser(TestUsers.HONEST_UID);
                var other = Child.ofUser(TestUsers.HONEST_UID)) {
            var eid = Integer.toString(shell.pid());
            try (var job = Child.ofUser(TestUsers.HONEST_UID, Map.of("GENV_ENVIRONMENT_ID", eid))) {
                node.state
                        .env(eid, TestUsers.HONEST_UID, "bob", null, shell.pid())
                        .env("other", TestUsers.HONEST_UID, "bob", null, other.pid())
                        .device(0, eid)
                        .device(1, "other")
                        .device(2)
                        .write();
                node.gpus.process(0, job.pid(), "10");
                var serviceClient = new ServiceClient(node.startService());
                serviceClient.awaitObservation();
                Command.run("kill", Integer.toString(shell.pid()));
                await().until(() -> serviceClient
                                .json("/hosts")
                                .path(0)
                                .path("environments")
                                .asInt()
                        == 1);

                node.state
                        .env(eid, TestUsers.HONEST_UID, "bob", null, job.pid())
                        .device(0)
                        .write();
                awaitCycles(serviceClient, job, 5);

                assertThat(job.isAlive()).isTrue();
                assertThat(violationOf(serviceClient, job).path("actions").findValuesAsText("outcome"))
                        .containsExactly("skipped_protected");
            }
        }
    }

    /** No user could see or correct anything while the service was stopped: a cycle counts two intervals at most. */
    @Test
    void graceDoesNotExpireWhileTheServiceIsSuspended() throws Exception {
        var grace = Duration.ofSeconds(6);
        node.set("GRACE", grace.toSeconds() + "s");
        try (var shell = Child.withEnvironment(Map.of());
                var job = Child.inEnvironment("a")) {
            writeEnvironment(shell);
            node.gpus.process(0, job.pid(), "10");
            var service = node.startService();
            var serviceClient = new ServiceClient(service);
            serviceClient.awaitObservation();
            node.state.device(0).write();
            awaitCycles(serviceClient, job, 1);

            Command.run("kill", "-STOP", Long.toString(service.process().pid()));
            Thread.sleep(grace.plusSeconds(1).toMillis()); // not a condition to wait for: this time must not count
            Command.run("kill", "-CONT", Long.toString(service.process().pid()));

            await().until(() -> !job.isAlive());
            await().until(() ->
                    violationOf(serviceClient, job).path("status").asText().equals("resolved"));
            assertThat(violationOf(serviceClient, job).path("cycles").asInt())
                    .as("6 s are at least three cycles of one second, each counted twice at most, after the first")
                    .isGreaterThanOrEqualTo(4);
        }
    }

    /** An unreadable line could belong to any process. Otherwise the service would keep the violation of every process that exits. */
    @Test
    void violationsOfExitedProcessesAreResolvedDespiteIncompleteListing() throws IOException {
        node.set("NON_ENV_PROCESSES", "audit");
        node.gpus.fault("case $1 in *compute-apps*) echo 'no line of a process' ;; esac");
        try (var lasting = Child.withEnvironment(Map.of())) {
            node.gpus.process(0, lasting.pid(), "10");
            var serviceClient = new ServiceClient(node.startService());
            awaitCycles(serviceClient, lasting, 1);
            for (var i = 0; i < 3; i++) {
                try (var shortLived = Child.withEnvironment(Map.of())) {
                    node.gpus.process(0, shortLived.pid(), "10");
                    awaitCycles(serviceClient, shortLived, 1);
                }
            }
            await().until(() ->
                    serviceClient.json("/violations?status=resolved").size() == 3);
            await().until(() -> serviceClient.observe().problems().equals(Set.of("gpu_line_unreadable")));
            assertThat(violationOf(serviceClient, lasting).path("status").asText())
                    .isEqualTo("active");
        }
    }

    private static void awaitCycles(ServiceClient serviceClient, Child process, int count) {
        await().until(() -> violationOf(serviceClient, process).path("cycles").asInt() >= count);
    }

    private static JsonNode violationOf(ServiceClient serviceClient, Child process) throws IOException {
        for (var violation : serviceClient.json("/violations")) {
            if (violation.path("processes").path(0).path("pid").asInt() == process.pid()) {
                return violation;
            }
        }
        return MissingNode.getInstance();
    }
}
