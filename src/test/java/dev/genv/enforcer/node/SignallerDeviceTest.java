package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.machine.Order;
import dev.genv.enforcer.enforcement.machine.SignalCheck;
import dev.genv.enforcer.format.linux.ProcStat.Addresses;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.node.linux.Libc;
import dev.genv.enforcer.observation.immunity.ImmunityRules;
import dev.genv.enforcer.observation.membership.ProgramEnviron;
import dev.genv.enforcer.observation.process.IdentityFlapping;
import dev.genv.enforcer.testsupport.linux.Child;
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

    private int doubts;

    @Test
    void processThatOnlyNvmlListsMustHaveADeviceOpen() throws IOException {
        Files.createFile(control());
        try (var without = Child.withEnvironment(Map.of());
                var with = Child.running(
                        List.of("sh", "-c", "exec 7</dev/full; exec sleep 3600"), Map.of("PATH", "/usr/bin:/bin"))) {
            await().until(() -> with.command().equals("sleep"));
            registerFull(without, with);
            var refused = terminate(without, true);
            assertThat(refused.outcome()).isEqualTo(Outcome.FAILED);
            assertThat(refused.detail()).contains("no device file of the NVIDIA driver open");
            assertThat(without.isAlive()).isTrue();
            assertThat(doubts).isEqualTo(1);
            assertThat(terminate(with, true)).isEqualTo(Result.of(Outcome.SIGNALLED));
            assertThat(terminate(without, false)).isEqualTo(Result.of(Outcome.SIGNALLED));
        }
    }

    /** A process can close its files and keep its GPU memory. */
    @Test
    void mappingOfADeviceIsEnoughForAProcessThatOnlyNvmlLists(@TempDir Path folder) throws IOException {
        Files.createFile(control());
        var closed = folder.resolve("closed");
        var program = """
                import ctypes, os, time
                device, mmap = os.open('/dev/zero', os.O_RDWR), ctypes.CDLL(None).mmap
                mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
                mmap(None, 4096, 3, 2, device, 0)
                os.close(device)
                os.mkdir('%s')
                while True: time.sleep(1000)
                """.formatted(closed);
        try (var child = Child.running(List.of("/usr/bin/python3", "-I", "-S", "-c", program), Map.of())) {
            await().until(() -> Files.exists(closed));
            registerFull(child);
            assertThat(terminate(child, true)).isEqualTo(Result.of(Outcome.SIGNALLED));
            assertThat(doubts).isZero();
        }
    }

    /** As on WSL. */
    @Test
    void isNotRequiredWithoutTheControlDevice() throws IOException {
        try (var child = Child.withEnvironment(Map.of())) {
            registerFull(child);
            assertThat(terminate(child, true)).isEqualTo(Result.of(Outcome.SIGNALLED));
        }
    }

    @Test
    void processWhoseFilesCannotBeExaminedIsNotSignalled() throws IOException {
        Files.createFile(control());
        try (var child = Child.withEnvironment(Map.of())) {
            Files.writeString(proc.resolve("devices"), "Character devices:\n  1 nvidia\n");
            Files.createDirectory(proc.resolve(Integer.toString(child.pid())));
            var refused = terminate(child, true);
            assertThat(refused.outcome()).isEqualTo(Outcome.FAILED);
            assertThat(refused.detail())
                    .isEqualTo("NVML lists it, but its open files cannot be examined, so it is not terminated:"
                            + " No such file or directory");
            assertThat(child.isAlive()).isTrue();
            assertThat(doubts).isEqualTo(1);
        }
    }

    private Path control() {
        return proc.resolve("nvidiactl");
    }

    /** {@code /dev/full} has the major number 1, like {@code /dev/null}, which the children must not have open. */
    private void registerFull(Child... children) throws IOException {
        Files.writeString(proc.resolve("devices"), "Character devices:\n  1 nvidia\n\nBlock devices:\n");
        for (var child : children) {
            Files.createSymbolicLink(
                    proc.resolve(Integer.toString(child.pid())), Path.of("/proc", Integer.toString(child.pid())));
        }
    }

    private Result terminate(Child child, boolean listedByNvml) throws IOException {
        var process = new GpuProcess(
                new ProcessId(child.pid(), child.startTime()),
                Libc.effectiveUid(),
                "sleep",
                new Membership.Outside(),
                List.of());
        var order = new Order.Terminate(
                process.id(),
                false,
                new Order.Expected(process.uid(), Set.of(), Set.of(), null, Addresses.UNKNOWN, null),
                new SignalCheck(
                        process,
                        ProgramEnviron.unavailable(new Membership.Unknown("")),
                        _ -> NO_RULES,
                        NO_RULES,
                        new IdentityFlapping()));
        return Signallers.of(Path.of("/proc"), proc, () -> doubts++).terminate(order, List.of(), listedByNvml);
    }
}
