package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.testsupport.Requirements;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Unlisted processes, as the agent finds them. */
class UnlistedAgentTest extends UnlistedSuite {
    private final PythonMachine machine;
    private final Path proc;
    private final PythonMachine.AgentHost host;

    UnlistedAgentTest(@TempDir Path folder) throws IOException {
        machine = new PythonMachine(folder);
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
        Requirements.mappedFiles();
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

    /** As in the documented container, which has neither capability. */
    @Test
    void mappingNeedsNoCapabilityToBeCompared() throws Exception {
        Requirements.rootWithCapabilities();
        Requirements.program("/usr/bin/setpriv", "util-linux");
        var limited = new LocalPython("setpriv", "--bounding-set", "-sys_admin,-checkpoint_restore");
        var close = "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *_: os.closerange(3, 100))";
        try (var holder = DeviceFileHolder.start(Map.of(), close)) {
            holder.release();
            DeviceFileHolder.write(proc, FakeNvidiaSmi.uuid(0), holder.pid());
            smi().process(0, holder.pid(), "1");
            var action = new Action.Terminate("gpu-1", observe().processes().getFirst(), Signal.TERM);
            assertThat(execute(limited, action).detail()).contains("its open files cannot be examined");
            Files.createSymbolicLink(
                    Files.createDirectories(proc.resolve("1/root/dev")).resolve("nvidia5"), DeviceFileHolder.FILE);
            assertThat(execute(limited, action)).isEqualTo(Result.of(Outcome.SIGNALLED));
            holder.child().awaitExit();
        }
    }

    /** Root without capabilities stands for root at another user's FUSE mount. */
    @Test
    void mappedFileThatRefusesRootHidesNoMappingOfOtherProcesses(@TempDir Path folder) throws Exception {
        Requirements.rootWithCapabilities();
        Requirements.program("/usr/bin/setpriv", "util-linux");
        var refused =
                Files.createFile(Files.createDirectory(folder.resolve("mount")).resolve("file"));
        Files.setAttribute(refused.getParent(), "unix:mode", 0700);
        Files.setAttribute(refused.getParent(), "unix:uid", 65534);
        var limited = new LocalPython("setpriv", "--bounding-set", "-dac_override,-dac_read_search");
        map(4_000_002, Path.of("/etc/passwd"), refused); // the newest process of a user is examined first
        map(4_000_001, DeviceFileHolder.FILE, DeviceFileHolder.FILE);
        smi().gpuLines("0, %s, 4096\n".formatted(FakeNvidiaSmi.uuid(0)));
        for (var i = 0; i < 4; i++) {
            host.observe(limited::request);
        }
        var found = host.observe(limited::request).unlisted().processes();
        assertThat(found).extracting(GpuProcess::pid).containsExactly(4_000_001);
    }

    @Override
    protected Path proc() {
        return proc;
    }

    @Override
    protected FakeNvidiaSmi smi() {
        return machine.nvidiaSmi;
    }

    @Override
    protected Snapshot observe() throws Exception {
        return host.observe(machine.python::request);
    }

    @Override
    protected Result execute(Action action) throws Exception {
        return execute(machine.python, action);
    }

    private Result execute(LocalPython python, Action action) throws Exception {
        var results = new ArrayList<Result>();
        host.execute(python::request, List.of(action), (_, result) -> results.add(result));
        return results.getFirst();
    }
}
