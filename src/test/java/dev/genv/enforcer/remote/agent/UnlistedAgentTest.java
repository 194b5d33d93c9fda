package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Signal;
import dev.genv.enforcer.testsupport.UnlistedSuite;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Unlisted processes, as the agent finds them. */
class UnlistedAgentTest extends UnlistedSuite {
    private final Machine machine;
    private final Path proc;
    private final AgentHost host;

    UnlistedAgentTest(@TempDir Path folder) throws IOException {
        machine = new Machine(folder);
        proc = folder.resolve("proc");
        machine.useFakeProc(proc);
        // The processes are real, so the time must be too.
        Files.delete(proc.resolve("uptime"));
        Files.createSymbolicLink(proc.resolve("uptime"), Path.of("/proc/uptime"));
        machine.nvidiaSmi.gpus(1);
        DeviceFileHolder.write(proc, FakeNvidiaSmi.uuid(0));
        host = machine.agent();
    }

    /** A listed pid can belong to a process that was started after the listed one has exited. */
    @Test
    void listedProcessMustHoldADeviceWhereTheDriverHasItsFiles() throws Exception {
        try (var holder = DeviceFileHolder.start(Map.of(), "");
                var other = Child.withEnvironment(Map.of())) {
            DeviceFileHolder.write(proc, FakeNvidiaSmi.uuid(0), holder.pid(), other.pid());
            smi().process(0, holder.pid(), "1").process(0, other.pid(), "1");
            var results = new HashMap<Integer, Result>();
            for (var process : observe().processes()) {
                results.put(process.pid(), execute(new Action.Terminate("gpu-1", process, Signal.TERM)));
            }
            assertThat(results)
                    .containsEntry(holder.pid(), Result.of(Outcome.SIGNALLED))
                    .hasEntrySatisfying(
                            other.pid(),
                            result -> assertThat(result.detail()).contains("no device file of the NVIDIA driver open"));
            holder.child().awaitExit();
            assertThat(other.isAlive()).isTrue();
        }
    }

    @Override
    protected Path proc() {
        return proc;
    }

    @Override
    protected Path etc() {
        return machine.etc;
    }

    @Override
    protected FakeNvidiaSmi smi() {
        return machine.nvidiaSmi;
    }

    @Override
    protected Snapshot observe() throws Exception {
        return host.observe(machine.python, Set.of()).snapshot();
    }

    @Override
    protected Result execute(Action action) throws Exception {
        var results = new ArrayList<Result>();
        host.execute(machine.python, List.of(action), (_, result) -> results.add(result));
        return results.getFirst();
    }
}
