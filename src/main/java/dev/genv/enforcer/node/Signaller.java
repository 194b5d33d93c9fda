package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.Outcome;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Signal;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/** Asks processes to end, each only if it still is who it was. */
final class Signaller {
    /** How often a process may be something else at the second look. */
    private static final int MOST_CHANGES = 2;

    private static final int MOST_REMEMBERED = 10_000;

    private final ProcessProbe probe;
    private final Map<ProcessId, Integer> changed = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<ProcessId, Integer> eldest) {
            return size() > MOST_REMEMBERED;
        }
    };

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
            if (!Objects.equals(seen.get().uid(), process.uid())
                    || (!seen.get().membership().equals(process.membership()) && !isEvasive(process, seen.get()))) {
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

    /**
     * A process may write over its environment, but one that names something else at every second look does so in order
     * not to be ended: it broke a rule as each of those that it said it was. Not to know is no answer, as ever.
     */
    private boolean isEvasive(GpuProcess judged, ProcessProbe.Seen seen) {
        if (judged.membership() instanceof Membership.Unknown || seen.membership() instanceof Membership.Unknown) {
            return false;
        }
        return changed.merge(seen.id(), 1, Integer::sum) > MOST_CHANGES;
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
