package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.format.Environ;
import dev.genv.enforcer.format.ProcStat;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reads the identity of a process: start time, real uid, membership. */
public final class ProcessProbe {
    private static final Membership UID_UNKNOWN = new Membership.Unknown("its real uid cannot be read");
    private static final Membership SILENT = new Membership.Unknown("its environ does not answer");
    private final ProcFs proc;

    public ProcessProbe(ProcFs proc) {
        this.proc = proc;
    }

    /**
     * A process as it was observed.
     *
     * @param uid its real uid; null if it could not be read, and then its membership is unknown too
     * @param membership the membership that its environ names
     */
    public record ObservedProcess(
            ProcessId id, @Nullable Long uid, String command, Membership membership, boolean kernelThread) {}

    /** Returns the process; empty if it has exited, a zombie included. */
    public Optional<ObservedProcess> observe(int pid) throws IOException {
        var before = proc.stat(pid);
        if (before.isEmpty() || before.get().isZombie()) {
            return Optional.empty();
        }
        var uid = uid(pid);
        var membership = uid == null
                ? UID_UNKNOWN
                : membership(new ProcessId(pid, before.get().startTime()), uid, before.get());
        // The parts belong together only if it is still the same process.
        var stat = proc.stat(pid);
        if (stat.isEmpty()
                || stat.get().isZombie()
                || stat.get().startTime() != before.get().startTime()) {
            return Optional.empty();
        }
        return Optional.of(new ObservedProcess(
                new ProcessId(pid, stat.get().startTime()),
                uid,
                stat.get().command(),
                membership,
                stat.get().isKernelThread()));
    }

    /** Whether this process has certainly exited. */
    public boolean hasEnded(ProcessId id) {
        try {
            return proc.stat(id.pid())
                    .map(stat -> stat.isZombie() || stat.startTime() != id.startTime())
                    .orElse(true);
        } catch (IOException e) {
            return false;
        }
    }

    private Membership membership(ProcessId process, long uid, ProcStat stat) {
        try {
            var environ = stat.hasEnded() ? proc.environOfAThread(process, uid) : proc.environ(process, uid);
            if (environ.length == 0 && !stat.hasEnded() && hasNoEnvironment(process.pid())) {
                // The kernel shows an empty environ while a process exits or is in execve; this is no answer.
                return new Membership.Unknown("its environ is not available at this moment");
            }
            return Environ.membership(environ);
        } catch (AccessDeniedException e) {
            return Membership.NOT_PERMITTED;
        } catch (ReadTimeoutException e) {
            return SILENT;
        } catch (IOException e) {
            return new Membership.Unknown("its environ cannot be read: " + e.getMessage());
        }
    }

    private boolean hasNoEnvironment(int pid) throws IOException {
        return proc.stat(pid).map(stat -> stat.environmentEnd() == 0).orElse(true);
    }

    private @Nullable Long uid(int pid) {
        try {
            return proc.realUid(pid);
        } catch (IOException e) {
            return null;
        }
    }
}
