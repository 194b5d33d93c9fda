package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.machine.Order;
import dev.genv.enforcer.facts.ProgramFile;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.files.ErrorText;
import dev.genv.enforcer.node.linux.Descriptor;
import dev.genv.enforcer.node.linux.Libc;
import dev.genv.enforcer.node.proc.NvidiaDevices;
import dev.genv.enforcer.node.proc.ProcessReader;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** Signals processes, each only if its identity has not changed. */
final class Signaller {
    private static final Result WITHOUT_DEVICE = Result.failed(
            "NVML lists it, but it has no device file of the NVIDIA driver open, so it is not terminated");

    private static final int NO_SIGNAL = 0;

    private final ProcessReader reader;
    private final NvidiaDevices devices;
    private final Runnable doubt;

    /** @param doubt is run for each process that NVML lists and that cannot be shown to use a device */
    Signaller(ProcessReader reader, NvidiaDevices devices, Runnable doubt) {
        this.reader = reader;
        this.devices = devices;
        this.doubt = doubt;
    }

    /**
     * Sends the signal through a pidfd that was opened before the process was checked again.
     *
     * @param listedByNvml whether only NVML says that the process uses a GPU: then it must have a device file open, because a pid of a
     *     library whose lists are laid out in another way would be any process
     */
    Result terminate(Order.Terminate order, List<Reading<ProgramFile>> programs, boolean listedByNvml) {
        var pid = order.process().pid();
        if (pid <= 0) {
            return new Result(Outcome.SKIPPED_PROTECTED, "this pid is not a process");
        }
        try (var descriptor = new Descriptor(Libc.pidfdOpen(pid))) {
            var now = reader.read(pid, programs);
            if (Thread.currentThread().isInterrupted()) {
                return Result.failed(
                        "abandoned: the execution took too long"); // a later check may have a different result
            }
            var refusal = order.check().refusal(now, programs);
            if (refusal.isPresent()) {
                return refusal.get();
            }
            var objection = listedByNvml && devices.areUsed() ? objection(pid, descriptor) : Optional.<Result>empty();
            if (objection.isPresent()) {
                doubt.run();
                return objection.get();
            }
            Libc.pidfdSendSignal(descriptor.number(), order.kill() ? Libc.SIGKILL : Libc.SIGTERM);
            return Result.of(Outcome.SIGNALLED);
        } catch (Errno e) {
            return failed(e);
        } catch (IOException e) {
            return Result.failed(String.valueOf(e.getMessage()));
        }
    }

    /** Returns why a process cannot be shown to use a device. */
    private Optional<Result> objection(int pid, Descriptor descriptor) throws Errno {
        try {
            return devices.hasOpen(pid) ? Optional.empty() : Optional.of(WITHOUT_DEVICE);
        } catch (IOException e) {
            Libc.pidfdSendSignal(descriptor.number(), NO_SIGNAL); // fails if the process has exited meanwhile
            return Optional.of(
                    Result.failed("NVML lists it, but its open files cannot be examined, so it is not terminated: "
                            + ErrorText.of(e)));
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
