package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.node.linux.Descriptor;
import dev.genv.enforcer.node.linux.Libc;
import dev.genv.enforcer.node.proc.ProcessProbe;
import dev.genv.enforcer.node.protection.ImmunityCheck;
import dev.genv.enforcer.observation.IdentityFlapping;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Signal;
import java.io.IOException;

/** Signals processes, each only if its identity has not changed. */
final class Signaller {
    private final ProcessProbe probe;
    private final IdentityFlapping identityFlapping = new IdentityFlapping();

    Signaller(ProcessProbe probe) {
        this.probe = probe;
    }

    /** Sends the signal through a pidfd that was opened before the identity of the process was checked again. */
    Result terminate(Action.Terminate action, ImmunityCheck immunityCheck) {
        var process = action.process();
        if (process.pid() <= 0) {
            return new Result(Outcome.SKIPPED_PROTECTED, "this pid is not a process");
        }
        try (var descriptor = new Descriptor(Libc.pidfdOpen(process.pid()))) {
            var observed = probe.observe(process.pid());
            if (observed.isEmpty() || !observed.get().id().equals(process.id())) {
                return Result.of(Outcome.ALREADY_GONE);
            }
            var immunity = immunityCheck.immunity(observed.get());
            if (immunity != null) {
                return new Result(
                        switch (immunity.kind()) {
                            case PROTECTED -> Outcome.SKIPPED_PROTECTED;
                            case EXEMPT -> Outcome.SKIPPED_EXEMPT;
                        },
                        immunity.reason());
            }
            if (Thread.currentThread().isInterrupted()) {
                return Result.failed(
                        "abandoned: the execution took too long"); // a later check may have a different result
            }
            if (identityFlapping.isOther(
                    process, observed.get().uid(), observed.get().membership())) {
                return Result.failed("its identity has changed since the rules were checked");
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
