package dev.genv.enforcer.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.Myself;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** A single cycle of the packaged program, interval 0. */
class OneCycleIT extends OnANode {
    @Test
    void opensNoPort() throws IOException {
        try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            var port = Integer.toString(taken.getLocalPort());
            node.variable("QUARKUS_HTTP_PORT", port).variable("QUARKUS_MANAGEMENT_PORT", port);

            assertThat(node.once().exitCode()).isZero();
        }
    }

    @Test
    void auditReportsEverythingAndTouchesNothing() throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var stray = Child.withEnvironment(Map.of());
                var elsewhere = Child.inEnvironment("a");
                var greedy = Child.inEnvironment("b");
                var orphan = Child.inEnvironment("gone")) {
            node.state
                    .own("a", null, shell.pid())
                    .own("b", "1000mi", shell.pid())
                    .device(0, "a")
                    .device(1, "b")
                    .device(2)
                    .write();
            node.gpus
                    .process(0, stray.pid(), "10")
                    .process(2, elsewhere.pid(), "10")
                    .process(1, greedy.pid(), "1100")
                    .process(2, orphan.pid(), "10");
            var before = everything();

            var output = node.set("MODE", "audit")
                    .set("NON_ENV_PROCESSES", "enforce")
                    .set("INACTIVE_ENV_PROCESSES", "enforce")
                    .set("MAX_DEVICES_PER_USER", 1)
                    .once();

            assertThat(output.exitCode()).isZero();
            assertThat(output.out().subList(0, 5))
                    .containsExactly(
                            "Process %d is not running in a GPU environment".formatted(stray.pid()),
                            "Process %d names environment gone, which is not active".formatted(orphan.pid()),
                            "Process %d from environment a is using non-attached GPU(s) 2".formatted(elsewhere.pid()),
                            "User %s is using 2 devices which is 1 more than the maximum allowed"
                                    .formatted(Myself.name()),
                            "Environment b is using 1153m on device 1 which is 104m over its capacity of 1000mi");
            assertThat(output.out().subList(5, output.out().size()))
                    .hasSize(5)
                    .allMatch(line -> line.endsWith("(skipped_audit: the service only audits)"));
            for (var process : List.of(shell, stray, elsewhere, greedy, orphan)) {
                assertThat(process.isAlive()).isTrue();
            }
            assertThat(everything()).as("not even a rewritten file").isEqualTo(before);
        }
    }

    @Test
    void severalRulesAboutOneProcessAreAllToldAndDoneOnce() throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var culprit = Child.inEnvironment("a")) {
            node.state
                    .own("a", "1000mi", shell.pid())
                    .device(0, "a")
                    .device(1)
                    .device(2)
                    .write();
            node.gpus.process(0, culprit.pid(), "1100").process(1, culprit.pid(), "10");

            var output = node.set("MAX_DEVICES_FOR_USER", Myself.name() + "=0").once();

            culprit.awaitEnd();
            assertThat(output.out())
                    .containsExactly(
                            "Process %d from environment a is using non-attached GPU(s) 1".formatted(culprit.pid()),
                            "User %s is using 1 devices which is 1 more than the maximum allowed"
                                    .formatted(Myself.name()),
                            "Environment a is using 1153m on device 0 which is 104m over its capacity of 1000mi",
                            "Terminating process %d from environment a that is running on GPU(s) 0,1"
                                    .formatted(culprit.pid()),
                            "Detaching environment a of user %s from device 0".formatted(Myself.name()));
            assertThat(output.log())
                    .filteredOn(line -> line.contains("action=terminate"))
                    .singleElement()
                    .asString()
                    .contains("rules=env-devices,max-devices-per-user,env-memory")
                    .contains("pid=%d start_time=".formatted(culprit.pid()))
                    .contains("signal=TERM outcome=signalled");
        }
    }

    @Test
    void processesOfTwoUsersEndForWhatTheyDoThemselves() throws IOException {
        Requirements.root();
        try (var bob = Child.ofUser(2001);
                var mallory = Child.ofUser(2002)) {
            node.gpus.process(0, bob.pid(), "10").process(1, mallory.pid(), "10");

            var output = node.set("NON_ENV_PROCESSES", "enforce").once();

            bob.awaitEnd();
            mallory.awaitEnd();
            assertThat(output.log())
                    .anyMatch(line -> line.contains("pid=%d ".formatted(bob.pid())) && line.contains("uid=2001"));
            assertThat(output.log())
                    .anyMatch(line -> line.contains("pid=%d ".formatted(mallory.pid())) && line.contains("uid=2002"));
        }
    }

    @Test
    void whoIsExemptIsReportedAndSpared() throws IOException {
        try (var stray = Child.withEnvironment(Map.of())) {
            node.gpus.process(0, stray.pid(), "10");

            var output = node.set("NON_ENV_PROCESSES", "enforce")
                    .set("EXEMPT_USERS", "no-such-user, " + Myself.uid())
                    .once();

            assertThat(output.exitCode()).isZero();
            assertThat(output.out().getFirst())
                    .isEqualTo("Process %d is not running in a GPU environment".formatted(stray.pid()));
            assertThat(output.out().getLast())
                    .contains("skipped_exempt")
                    .contains("uid %d, of whom nothing is ended".formatted(Myself.uid()));
            assertThat(output.log())
                    .anyMatch(line -> line.contains("setting_user_unknown") && line.contains("no-such-user"));
            assertThat(stray.isAlive()).isTrue();
        }
    }

    /**
     * Mallory names bob's environment and fills it: bob is not ended for that, and with a single look nobody knows that
     * the environment was there before her.
     */
    @Test
    void nobodyIsEndedForTheMemoryOfAnotherUser() throws IOException {
        Requirements.root();
        var environment = Map.of("GENV_ENVIRONMENT_ID", "bobs");
        try (var shell = Child.ofUser(2001);
                var bob = Child.ofUser(2001, environment);
                var mallory = Child.ofUser(2002, environment)) {
            node.state
                    .env("bobs", 2001, "bob", "1000mi", shell.pid())
                    .device(0, "bobs")
                    .device(1)
                    .device(2)
                    .write();
            node.gpus.process(0, bob.pid(), "900").process(0, mallory.pid(), "1500");

            var output = node.once();

            assertThat(bob.isAlive()).isTrue();
            assertThat(mallory.isAlive()).isTrue();
            assertThat(output.out())
                    .contains("Process %d of uid 2002 names environment bobs of uid 2001".formatted(mallory.pid()))
                    .anyMatch(line -> line.startsWith("Terminating process %d ".formatted(mallory.pid()))
                            && line.contains("(skipped_protected: environment bobs is of others"));
        }
    }

    @Test
    void aLockHeldForEverStopsDetachmentsAndNothingElse() throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("a")) {
            environmentWithADevice(shell, member);
            var lock = Files.writeString(node.stateDirectory.resolve("genv.lock"), "");
            var before = everything();
            node.set("LOCK_TIMEOUT", "500ms").set("MAX_DEVICES_PER_USER", 0);

            try (var holder = Flock.hold(lock)) {
                var output = node.once();
                member.awaitEnd();
                assertThat(output.exitCode()).isEqualTo(1);
                assertThat(output.out())
                        .last()
                        .asString()
                        .startsWith(
                                "Detaching environment a of user %s from device 0 (failed: ".formatted(Myself.name()))
                        .contains("process %d (flock) of uid".formatted(holder.pid()));
                assertThat(everything())
                        .as("nothing of genv's is touched")
                        .containsAllEntriesOf(before)
                        .hasSize(before.size() + 1)
                        .containsKey(".genv-enforcer.lock");
                assertThat(holder.isHeld()).isTrue();
            }

            assertThat(node.once().exitCode()).isZero();
            assertThat(Files.readString(node.devicesJson()))
                    .isEqualTo(node.state.device(0).devicesJson());
        }
    }

    @Test
    void itWaitsForALockThatIsGivenBackInTime() throws Exception {
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("a")) {
            environmentWithADevice(shell, member);
            var lock = Files.writeString(node.stateDirectory.resolve("genv.lock"), "");
            node.set("LOCK_TIMEOUT", "60s").set("MAX_DEVICES_PER_USER", 0).set("INTERVAL", 0);

            try (var holder = Flock.hold(lock)) {
                var service = node.start();
                Flock.awaitAnotherOpening(service.process().pid(), lock);
                assertThat(member.isAlive()).isTrue();
                holder.giveBack();
                assertThat(service.process().waitFor()).isZero();
            }
            member.awaitEnd();
        }
    }

    @Test
    void aBrokenGpuToolFailsTheCycle() throws IOException {
        node.gpus.fault("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18");

        var output = node.once();

        assertThat(output.exitCode()).isEqualTo(1);
        assertThat(output.log()).anyMatch(line -> line.contains("Driver/library version mismatch"));
    }

    @Test
    void badSettingsAreToldAllAtOnce() throws IOException {
        var output = node.set("MODE", "enforec").set("REMOTE_HOST", "gpu-2").run();

        assertThat(output.exitCode()).isEqualTo(2);
        assertThat(output.out()).isEmpty();
        assertThat(output.log())
                .hasSize(2)
                .anyMatch(line -> line.equals("GENV_ENFORCER_MODE=enforec: expected enforce or audit"))
                .anyMatch(line -> line.startsWith("GENV_ENFORCER_REMOTE_HOST=gpu-2: there is no such setting"));
    }

    private void environmentWithADevice(Child shell, Child member) throws IOException {
        node.state
                .own("a", null, shell.pid())
                .device(0, "a")
                .device(1)
                .device(2)
                .write();
        node.gpus.process(0, member.pid(), "10");
    }

    /** Content and time of every file of the state directory. */
    private Map<String, List<Object>> everything() throws IOException {
        var files = new TreeMap<String, List<Object>>();
        try (var entries = Files.list(node.stateDirectory)) {
            for (var file : entries.toList()) {
                FileTime changed = Files.getLastModifiedTime(file);
                Object inode = Files.getAttribute(file, "unix:ino");
                files.put(file.getFileName().toString(), List.of(Files.readString(file), changed, inode));
            }
        }
        return files;
    }
}
