package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Uses of devices without capabilities, of which only the agent can be deprived here. */
@Timeout(600)
class DeviceCapabilitiesTest {
    @TempDir
    Path folder;

    private FakeMachine fake;
    private Path proc;

    @BeforeEach
    void create() throws IOException {
        Requirements.rootWithCapabilities();
        Requirements.program("/usr/bin/setpriv", "util-linux");
        fake = new FakeMachine(FakeMachine.Hands.AGENT, folder);
        fake.useRealTime();
        fake.tool.gpus(1);
        proc = fake.proc.root();
        DeviceFileHolder.write(proc);
    }

    /** As in the documented container, which has neither capability. */
    @Test
    void mappingNeedsNoCapabilityToBeCompared() throws Exception {
        var limited = fake.host("setpriv", "--bounding-set", "-sys_admin,-checkpoint_restore");
        var close = "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *_: os.closerange(3, 100))";
        try (var holder = DeviceFileHolder.start(Map.of(), close)) {
            holder.release();
            DeviceFileHolder.write(proc, holder.pid());
            fake.tool.process(0, holder.pid(), "1");
            assertThat(terminate(limited).detail()).contains("its open files cannot be examined");
            Files.createSymbolicLink(
                    Files.createDirectories(proc.resolve("1/root/dev")).resolve("nvidia5"), DeviceFileHolder.FILE);
            assertThat(terminate(limited)).isEqualTo(Result.of(Outcome.SIGNALLED));
            holder.child().awaitExit();
        }
    }

    /** The kernel shows the environ for CAP_PERFMON, and zeros instead of its addresses: that proves no overwritten environ. */
    @ParameterizedTest
    @CsvSource({"'-sys_ptrace', false", "'-sys_ptrace,-sys_admin,-perfmon', false", "'-sys_admin', true"})
    void environWithoutAddressesIsNotPermittedToRead(String boundingSet, boolean isReadable) throws Exception {
        fake.procRoot = Path.of("/proc");
        try (var job = Child.ofUser(54_001, Map.of("GENV_ENVIRONMENT_ID", "a"))) {
            fake.tool.process(0, job.pid(), "1");
            var process = fake.host("setpriv", "--bounding-set", boundingSet)
                    .observe(Set.of())
                    .processes()
                    .getFirst();
            assertThat(process.membership())
                    .isEqualTo(isReadable ? new Membership.InEnvironment("a") : Membership.NOT_PERMITTED);
        }
    }

    private static Result terminate(ObservedHost host) throws Exception {
        var process = host.observe(Set.of()).processes().getFirst();
        var results = new ArrayList<Result>();
        host.execute(List.of(new Action.Terminate("gpu-1", process)), (_, result) -> results.add(result));
        return results.getFirst();
    }
}
