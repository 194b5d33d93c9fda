package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.observation.table.FakeMachine.Hands;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A protected program is protected under the name of a mount, and a user's program under the protected name is not. */
@Timeout(600)
class MountedProgramTest {
    private static final Map<String, String> PATH = Map.of("PATH", "/usr/bin:/bin");

    @ParameterizedTest
    @EnumSource
    void programIsIdentifiedAtAnyMountPoint(Hands hands, @TempDir Path folder) throws Exception {
        Requirements.root();
        Requirements.program("/usr/bin/setpriv", "util-linux");
        var fake = new FakeMachine(hands, folder);
        fake.procRoot = Path.of("/proc");
        var server = copyOfSleep(folder, "server");
        var own = copyOfSleep(folder, "own");
        Files.setAttribute(own, "unix:uid", 65534);
        fake.programs.add(new ProtectedExecutable(server, "*"));
        var host = fake.host();
        try (var byRoot = underMount(server, own, 0);
                var byUser = underMount(server, own, 65534);
                var hostile = underMount(own, server, 65534)) {
            for (var child : List.of(byRoot, byUser, hostile)) {
                fake.tool.process(0, child.pid(), "1");
            }
            for (var child : List.of(byRoot, byUser)) {
                assertThat(observed(child, host).immunity())
                        .isEqualTo(new Immunity(Immunity.Kind.PROTECTED, "it runs " + server));
            }
            assertThat(observed(hostile, host).immunity()).isNull();
            assertThat(terminate(hostile, host)).isEqualTo(Result.of(Outcome.SIGNALLED));
            assertThat(hostile.awaitExit()).isEqualTo(143);
        }
    }

    /** Runs a program under the name of another one, in a mount namespace and, unless it is root's, a user namespace. */
    private static Child underMount(Path program, Path name, int uid) throws IOException {
        var unshare = uid == 0 ? "unshare --mount" : "unshare --mount --user --map-root-user";
        var mount = "mount --bind %s %s".formatted(program, name);
        Requirements.mounts(run(uid, unshare, mount).awaitExit() == 0);
        var child = run(uid, unshare, mount + " && exec %s 600".formatted(name));
        await().until(() -> child.command().equals(name.getFileName().toString()));
        return child;
    }

    private static Child run(int uid, String unshare, String script) throws IOException {
        var command = Stream.concat(Stream.of(unshare.split(" ", -1)), Stream.of("sh", "-c", script));
        return Child.running(Programs.asUser(uid, command.toArray(String[]::new)), PATH);
    }

    private static GpuProcess observed(Child child, ObservedHost host) throws Exception {
        return host.observe(Set.of()).processes().stream()
                .filter(each -> each.pid() == child.pid())
                .findFirst()
                .orElseThrow();
    }

    private static Result terminate(Child child, ObservedHost host) throws Exception {
        var process = observed(child, host);
        var results = new ArrayList<Result>();
        host.execute(List.of(new Action.Terminate("gpu-1", process)), (_, result) -> results.add(result));
        return results.getFirst();
    }

    private static Path copyOfSleep(Path folder, String name) throws IOException {
        return Files.copy(Path.of("/usr/bin/sleep"), folder.resolve(name), StandardCopyOption.COPY_ATTRIBUTES);
    }
}
