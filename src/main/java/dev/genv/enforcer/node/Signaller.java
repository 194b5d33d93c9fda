package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.host.Machine.Instruction;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.host.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.linux.Descriptor;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.Libc;
import dev.genv.enforcer.node.proc.ProcessReader;
import java.io.IOException;
import java.util.List;

/** Signals processes, each only if its identity has not changed. */
final class Signaller {
    private static final int NO_SIGNAL = 0;

    private final ProcessReader reader;
    private final DeviceCheck devices;

    Signaller(ProcessReader reader, DeviceCheck devices) {
        this.reader = reader;
        this.devices = devices;
    }

    /** Sends the signal through a pidfd that was opened before the process was checked again. */
    Result terminate(Instruction.Terminate order, List<Reading<ProgramFile>> programs) {
        var pid = order.process().pid();
        if (pid <= 0) {
            return new Result(Outcome.SKIPPED_PROTECTED, "this pid is not a process");
        }
        try (var descriptor = new Descriptor(Libc.pidfdOpen(pid))) {
            // It can wait, so it comes before the last check.
            var withoutDevice = devices.refusal(order);
            var now = reader.read(pid);
            if (Thread.currentThread().isInterrupted()) {
                return Result.failed(
                        "abandoned: the execution took too long"); // a later check may have a different result
            }
            var refusal = order.check().refusal(now, programs);
            if (refusal.isPresent()) {
                return refusal.get();
            }
            if (withoutDevice.isPresent()) {
                Libc.pidfdSendSignal(descriptor.number(), NO_SIGNAL); // fails if the process has exited meanwhile
                return withoutDevice.get();
            }
            Libc.pidfdSendSignal(descriptor.number(), order.kill() ? Libc.SIGKILL : Libc.SIGTERM);
            return Result.of(Outcome.SIGNALLED);
        } catch (Errno e) {
            return failed(e);
        } catch (IOException e) {
            return Result.failed(String.valueOf(e.getMessage()));
        }
    }

    private static Result failed(Errno e) {
        if (e.is(Errno.ESRCH)) {
            return Result.of(Outcome.ALREADY_GONE);
        }
        return e.is(Errno.EPERM)
                ? new Result(Outcome.DENIED, "needs the capability CAP_KILL")
                : Result.failed(String.valueOf(e.getMessage()));
    }
}
