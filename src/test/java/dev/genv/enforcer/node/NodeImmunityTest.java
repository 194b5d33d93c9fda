package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The real /proc and real processes; only the GPUs are fake. */
@Timeout(600)
class NodeImmunityTest {
    private static final Map<String, String> PATH = Map.of("PATH", "/usr/bin:/bin");

    private final Path state;
    private final FakeNvidiaSmi smi;

    NodeImmunityTest(@TempDir Path folder) throws IOException {
        state = folder.resolve("genv");
        smi = new FakeNvidiaSmi(folder.resolve("bin")).gpus(2);
    }

    /** Also by a user in namespaces of its own. There a user's own program under the protected path is not protected. */
    @Test
    void protectedProgramIsImmuneUnderTheNameOfAMount(@TempDir Path folder) throws Exception {
        requireOtherUsers();
        makeTraversable(folder);
        var program = copyOfSleep(folder, "server");
        var own = copyOfSleep(folder, "own");
        Files.setAttribute(own, "unix:uid", 65534);
        var caring = new NodeBuilder(state, smi.path())
                .programs(new ProtectedExecutable(program, "*"))
                .host();
        try (var byRoot = underMount(program, own, 0);
                var byUser = underMount(program, own, 65534);
                var hostile = underMount(own, program, 65534)) {
            for (var child : List.of(byRoot, byUser, hostile)) {
                smi.process(0, child.pid(), "1");
            }
            assertProtected(byRoot, caring);
            assertProtected(byUser, caring);
            assertThat(terminate(hostile, caring)).isEqualTo(Result.of(Outcome.SIGNALLED));
            assertThat(hostile.awaitExit()).isEqualTo(143);
        }
    }

    /** Runs a program under the name of another one, in a mount namespace and, unless it is root's, a user namespace. */
    private static Child underMount(Path program, Path name, int uid) throws IOException {
        var id = Integer.toString(uid);
        var command = new ArrayList<>(
                List.of("setpriv", "--reuid", id, "--regid", id, "--clear-groups", "unshare", "--mount"));
        command.addAll(uid == 0 ? List.of() : List.of("--user", "--map-root-user"));
        command.addAll(List.of("sh", "-c", "mount --bind %s %s && exec \"$@\"".formatted(program, name), "sh"));
        Requirements.mounts(Child.running(with(command, "true"), PATH).awaitExit() == 0);
        var child = Child.running(with(command, name.toString(), "600"), PATH);
        await().until(() -> child.command().equals(name.getFileName().toString()));
        return child;
    }

    private static List<String> with(List<String> command, String... more) {
        return Stream.concat(command.stream(), Stream.of(more)).toList();
    }

    private static void assertProtected(Child child, ObservedHost host) throws Exception {
        assertThat(observed(child, host).immunity())
                .isNotNull()
                .extracting(Immunity::kind)
                .isEqualTo(Immunity.Kind.PROTECTED);
        assertThat(terminate(child, host).outcome()).isEqualTo(Outcome.SKIPPED_PROTECTED);
        assertThat(child.isAlive()).isTrue();
    }

    private static GpuProcess observed(Child child, ObservedHost host) throws Exception {
        return host.observe(Set.of()).processes().stream()
                .filter(process -> process.pid() == child.pid())
                .findFirst()
                .orElseThrow();
    }

    private static Result terminate(Child child, ObservedHost host) throws Exception {
        return execute(host, new Action.Terminate("gpu-1", observed(child, host)));
    }

    private static Result execute(ObservedHost host, Action action) throws Exception {
        var results = new ArrayList<Result>();
        host.execute(List.of(action), (_, result) -> results.add(result));
        assertThat(results).hasSize(1);
        return results.getFirst();
    }

    private static void requireOtherUsers() throws IOException {
        Requirements.root();
        Requirements.program("/usr/bin/setpriv", "util-linux");
    }

    /** A temporary folder is its owner's alone. */
    private static void makeTraversable(Path folder) throws IOException {
        Files.setAttribute(folder, "unix:mode", 0755);
    }

    private static Path copyOfSleep(Path folder, String name) throws IOException {
        var program = folder.resolve(name);
        Files.createDirectories(program.getParent());
        return Files.copy(Path.of("/usr/bin/sleep"), program, StandardCopyOption.COPY_ATTRIBUTES);
    }
}
