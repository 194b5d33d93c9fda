package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.Outcome;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.observation.Evasion;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Signal;
import java.io.IOException;

/** Asks processes to end, each only if it still is who it was. */
final class Signaller {
    private final ProcessProbe probe;
    private final Evasion evasion = new Evasion();

    Signaller(ProcessProbe probe) {
        this.probe = probe;
    }

    /** Sends the signal through a process descriptor that was opened before the process was looked at again. */
    Result end(Action.Terminate action, Spared spared) {
        var process = action.process();
        if (process.pid() <= 0) {
            return new Result(Outcome.SKIPPED_PROTECTED, "this is no process");
        }
        try (var descriptor = new Descriptor(Libc.pidfdOpen(process.pid()))) {
            var seen = probe.see(process.pid());
            if (seen.isEmpty() || !seen.get().id().equals(process.id())) {
                return Result.of(Outcome.ALREADY_GONE);
            }
            var immunity = spared.immunity(seen.get());
            if (immunity != null) {
                return new Result(
                        switch (immunity.kind()) {
                            case PROTECTED -> Outcome.SKIPPED_PROTECTED;
                            case EXEMPT -> Outcome.SKIPPED_EXEMPT;
                        },
                        immunity.reason());
            }
            if (Thread.currentThread().isInterrupted()) {
                return Result.failed("given up: it took too long"); // by now it may have been judged otherwise
            }
            if (evasion.isOther(process, seen.get().uid(), seen.get().membership())) {
                return Result.failed("it is no longer what it was when it was judged");
            }
            Libc.pidfdSendSignal(descriptor.number(), action.signal() == Signal.KILL ? Libc.SIGKILL : Libc.SIGTERM);
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
