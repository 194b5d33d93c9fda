package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.observation.ProcessIdentity;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.testsupport.NamedMembership;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.CProgram;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Real processes in the real /proc. */
@Timeout(600)
class RealProcessReaderTest {
    private static final Path PROC = Path.of("/proc");

    @Test
    void observesARealProcessWhoseFirstThreadHasExited(@TempDir Path folder) throws Exception {
        var program = CProgram.compile(folder.resolve("leaderless"), """
            #include <pthread.h>
            #include <unistd.h>
            static void *run(void *x) { sleep(600); return x; }
            int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_exit(0); }
            """);
        try (var child = Child.running(List.of(program.toString()), Map.of("GENV_ENVIRONMENT_ID", "a"))) {
            var stat = PROC.resolve(child.pid() + "/stat");
            await().until(() -> Files.readString(stat).contains(") Z "));
            assertThat(observe(new ProcessReader(new ProcFs(PROC)), child.pid()))
                    .hasValueSatisfying(
                            seen -> assertThat(NamedMembership.of(seen)).isEqualTo(new Membership.InEnvironment("a")));
        }
    }

    @Test
    void processOfRootIsNotPermittedForOrdinaryUser() throws IOException {
        Requirements.ordinaryUser();
        Requirements.require(
                Files.getAttribute(PROC.resolve("1"), "unix:uid").equals(0),
                "a process 1 of root",
                "run outside of a user namespace");
        assertThat(observe(new ProcessReader(new ProcFs(PROC)), 1))
                .map(NamedMembership::of)
                .contains(Membership.NOT_PERMITTED);
    }

    private static Optional<ObservedProcess> observe(ProcessReader reader, int pid) {
        return ProcessIdentity.of(reader.read(pid)) instanceof ProcessIdentity.Present(var process)
                ? Optional.of(process)
                : Optional.empty();
    }
}
