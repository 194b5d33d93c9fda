package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.Machine.Instruction;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.SignalCheck;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.ProcStat.Addresses;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.ImmunityRules;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron;
import dev.genv.enforcer.observation.process.IdentityFlapping;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The terminal or the pipe of a test process stands for no device; {@code /dev/null} stands for one of the driver. */
@Timeout(600)
class SignallerDeviceTest {
    private static final ImmunityRules NO_RULES = new ImmunityRules(0, Set.of(), List.of());

    @TempDir
    Path proc;

    @Test
    void listedProcessMustHaveADeviceOpen() throws IOException {
        Requirements.mappedFiles();
        try (var without = Child.withEnvironment(Map.of());
                var with = Child.running(
                        List.of("sh", "-c", "exec 7</dev/full; exec sleep 3600"), Map.of("PATH", "/usr/bin:/bin"))) {
            await().until(() -> with.command().equals("sleep"));
            registerFull(without, with);
            var refused = terminate(without);
            assertThat(refused.outcome()).isEqualTo(Outcome.FAILED);
            assertThat(refused.detail()).contains("no device file of the NVIDIA driver open");
            assertThat(without.isAlive()).isTrue();
            assertThat(terminate(with)).isEqualTo(Result.of(Outcome.SIGNALLED));
        }
    }

    @Test
    void listedProcessMayHaveClosedTheFileThatItMaps() throws Exception {
        Requirements.mappedFiles();
        try (var holder = DeviceFileHolder.start(
                        Map.of(),
                        "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *_: os.closerange(3, 100))");
                var released = DeviceFileHolder.start(
                        Map.of(),
                        "import os, signal\n"
                                + "signal.signal(signal.SIGUSR1, lambda *_: (mapping.close(), os.close(device)))")) {
            holder.release();
            released.release();
            DeviceFileHolder.write(proc, "GPU-5", holder.pid(), released.pid());
            assertThat(terminate(holder.child())).isEqualTo(Result.of(Outcome.SIGNALLED));
            assertThat(terminate(released.child()).detail()).contains("no device file of the NVIDIA driver open");
        }
    }

    /** As on WSL. */
    @Test
    void isNotRequiredWithoutTheDriver() throws IOException {
        try (var child = Child.withEnvironment(Map.of())) {
            Files.writeString(proc.resolve("devices"), "Character devices:\n  1 mem\n\nBlock devices:\n  1 nvidia\n");
            assertThat(terminate(child)).isEqualTo(Result.of(Outcome.SIGNALLED));
        }
    }

    @Test
    void processWhoseFilesCannotBeExaminedIsNotSignalled() throws IOException {
        try (var child = Child.withEnvironment(Map.of())) {
            Files.writeString(proc.resolve("devices"), "Character devices:\n  1 nvidia\n");
            Files.createDirectory(proc.resolve(Integer.toString(child.pid())));
            var refused = terminate(child);
            assertThat(refused.outcome()).isEqualTo(Outcome.FAILED);
            assertThat(refused.detail())
                    .isEqualTo("it is listed, but its open files cannot be examined, so it is not terminated:"
                            + " No such file or directory");
            assertThat(child.isAlive()).isTrue();
        }
    }

    /** {@code /dev/full} has the major number 1, like {@code /dev/null}, which the children must not have open. */
    private void registerFull(Child... children) throws IOException {
        Files.writeString(proc.resolve("devices"), "Character devices:\n  1 nvidia\n\nBlock devices:\n");
        for (var child : children) {
            Files.createSymbolicLink(
                    proc.resolve(Integer.toString(child.pid())), Path.of("/proc", Integer.toString(child.pid())));
        }
    }

    private Result terminate(Child child) throws IOException {
        var process = new GpuProcess(
                new ProcessId(child.pid(), child.startTime()),
                FileCalls.effectiveUid(),
                "sleep",
                new Membership.Outside(),
                List.of());
        var order = new Instruction.Terminate(
                process.id(),
                false,
                new Instruction.Expected(process.uid(), Set.of(), Set.of(), null, Addresses.UNKNOWN),
                new SignalCheck(
                        process,
                        ProgramEnviron.unavailable(new Membership.Unknown("")),
                        _ -> NO_RULES,
                        NO_RULES,
                        new IdentityFlapping()));
        return Signallers.of(Path.of("/proc"), proc).terminate(order, List.of());
    }
}
