package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.host.Machine.Instruction;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.host.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.linux.Descriptor;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.Libc;
import dev.genv.enforcer.node.gpu.NvidiaDevices;
import dev.genv.enforcer.node.proc.ProcessReader;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** Signals processes, each only if its identity has not changed. */
record Signaller(ProcessReader reader, NvidiaDevices devices) {
    private static final int NO_SIGNAL = 0;

    private static final Result WITHOUT_DEVICE = Result.failed(
            "it is listed, but has no device file of the NVIDIA driver open or mapped, so it is not terminated");

    /** Sends the signal through a pidfd that was opened before the process was checked again. */
    Result terminate(Instruction.Terminate order, List<Reading<ProgramFile>> programs) {
        var pid = order.process().pid();
        if (pid <= 0) {
            return new Result(Outcome.SKIPPED_PROTECTED, "this pid is not a process");
        }
        try (var descriptor = new Descriptor(Libc.pidfdOpen(pid))) {
            // It can wait, so it comes before the last check.
            var withoutDevice = deviceRefusal(order);
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

    /**
     * Returns why a process is not terminated; empty if it uses a device file of the driver: a listed pid can belong to a process that
     * was started after the listed one has exited. The call can take a second.
     */
    private Optional<Result> deviceRefusal(Instruction.Terminate order) {
        try {
            // Without device files nothing can be checked. A process can close a file that it maps.
            var open = devices.areUsed() ? devices.open(order.process().pid()) : null;
            if (open == null || open.isProven()) {
                return Optional.empty();
            }
            var uid = order.expected().uid();
            var mapped = uid == null
                    ? new NvidiaDevices.Use(false, "its uid is unknown")
                    : reader.proc()
                            .guarded(
                                    order.process(),
                                    uid,
                                    () -> devices.mapped(order.process().pid()));
            if (mapped.isProven()) {
                return Optional.empty();
            }
            var unexamined = open.unexamined().isEmpty() ? mapped.unexamined() : open.unexamined();
            return Optional.of(unexamined.isEmpty() ? WITHOUT_DEVICE : unexamined(unexamined));
        } catch (IOException e) {
            return Optional.of(unexamined(Errno.textOf(e)));
        }
    }

    private static Result unexamined(String reason) {
        return Result.failed("it is listed, but its open files cannot be examined, so it is not terminated: " + reason);
    }
}
