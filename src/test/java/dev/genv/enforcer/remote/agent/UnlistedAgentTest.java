package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.testsupport.UnlistedSuite;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
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
