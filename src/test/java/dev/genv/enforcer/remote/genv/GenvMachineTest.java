package dev.genv.enforcer.remote.genv;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.enforcement.machine.ObservedHost;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.device.Device;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.remote.ShellWords;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With a real shell, a fake genv, and real processes to terminate. */
class GenvMachineTest {
    @TempDir
    private Path root;

    private Path state;
    private LocalShell connection;
    private ObservedHost host;

    @BeforeEach
    void installFakeGenv() throws IOException {
        state = Files.createDirectory(root.resolve("a state's directory"));
        var programs = Files.createDirectory(root.resolve("bin"));
        connection = new LocalShell(programs);
        host = GenvMachineSuite.host(connection, GenvMachineSuite.config(false, state.toString()), List.of());
        var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        var classPath = System.getProperty("java.class.path");
        var genv = "#!/bin/sh\nexec %s -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp %s %s \"$@\"\n"
                .formatted(ShellWords.quote(java), ShellWords.quote(classPath), FakeGenv.class.getName());
        Files.writeString(programs.resolve("genv"), genv);
        Files.setPosixFilePermissions(programs.resolve("genv"), PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    @Test
    void terminatesAndDetachesLikeGenv() throws Exception {
        try (var outside = Child.withEnvironment(Map.of());
                var inside = Child.inEnvironment("a");
                var untouched = Child.inEnvironment("b")) {
            new StateFiles(state)
                    .env("a", 1003, "zoë \"z\"", "1g", List.of(inside.pid()), List.of("k"))
                    .env("b", 0, null, null, untouched.pid())
                    .device(0, "a", "b")
                    .device(1, "a")
                    .write();
            apps(
                    "%d 0 777".formatted(outside.pid()),
                    "%d 0 5".formatted(inside.pid()),
                    "%d 1 6".formatted(inside.pid()),
                    "%d 1 7".formatted(untouched.pid()));
            var seen = host.observe(Set.of()).snapshot();
            assertThat(seen.isComplete()).isTrue();
            assertThat(process(seen.processes(), outside).membership()).isEqualTo(new Membership.Outside());
            assertThat(process(seen.processes(), inside).devices()).containsExactly(0, 1);
            assertThat(process(seen.processes(), untouched).membership()).isEqualTo(new Membership.InEnvironment("b"));

            var results = new LinkedHashMap<Action, Result>();
            var environment = requireNonNull(seen.environmentsById().get("a"));
            var attachment = device(seen, 1).attachments().getFirst();
            host.execute(
                    List.of(
                            new Action.Terminate("gpu-1", process(seen.processes(), outside)),
                            new Action.Terminate("gpu-1", process(seen.processes(), inside)),
                            new Action.Detach("gpu-1", environment, 1, attachment)),
                    results::put);
            assertThat(results.values())
                    .containsExactly(
                            Result.of(Outcome.SIGNALLED), Result.of(Outcome.SIGNALLED), Result.of(Outcome.DETACHED));
            await().until(() -> !outside.isAlive() && !inside.isAlive());
            assertThat(untouched.isAlive()).isTrue();
            var after = host.observe(Set.of()).snapshot();
            assertThat(device(after, 0).isAttachedTo("a")).isTrue();
            assertThat(device(after, 1).attachments()).isEmpty();
            assertThat(after.processes()).extracting(GpuProcess::pid).containsExactly(untouched.pid());
        }
    }

    @Test
    void processThatExitedMeanwhileIsAlreadyGone() throws Exception {
        new StateFiles(state).device(0).write();
        GpuProcess checked;
        try (var child = Child.withEnvironment(Map.of())) {
            apps("%d 0 777".formatted(child.pid()));
            checked = process(host.observe(Set.of()).snapshot().processes(), child);
        }
        await().until(() -> ProcessHandle.of(checked.pid()).isEmpty());
        var results = new LinkedHashMap<Action, Result>();
        host.execute(List.of(new Action.Terminate("gpu-1", checked)), results::put);
        assertThat(results.values()).containsExactly(Result.of(Outcome.ALREADY_GONE));
    }

    @Test
    void observationFailsWhenGenvFails() throws IOException {
        new StateFiles(state).writeEnvs();
        apps();
        assertThatThrownBy(() -> host.observe(Set.of()))
                .isInstanceOfSatisfying(
                        UnreachableException.class,
                        refusal -> assertThat(refusal.code()).isEqualTo(ProblemCode.AGENT_FAILED))
                .hasMessageStartingWith("genv exited with 1: ");
    }

    @Test
    void observationFailsWithoutGenv() throws IOException {
        Files.delete(connection.programs().resolve("genv"));
        assertThatThrownBy(() -> host.observe(Set.of()))
                .isInstanceOfSatisfying(
                        UnreachableException.class,
                        refusal -> assertThat(refusal.code()).isEqualTo(ProblemCode.AGENT_MISSING));
    }

    private void apps(String... lines) throws IOException {
        Files.write(state.resolve("apps"), List.of(lines));
    }

    private static Device device(Snapshot snapshot, int index) {
        return requireNonNull(snapshot.devicesByIndex().get(index));
    }

    private static GpuProcess process(List<GpuProcess> processes, Child child) {
        return processes.stream()
                .filter(process -> process.pid() == child.pid())
                .findFirst()
                .orElseThrow();
    }
}
