package dev.genv.enforcer.node;

import dev.genv.enforcer.format.Environ;
import dev.genv.enforcer.format.ProcStat;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Tells who a pid is. */
final class ProcessProbe {
    private static final Membership UID_UNKNOWN = new Membership.Unknown("its real uid cannot be read");
    private static final Membership SILENT = new Membership.Unknown("its environment does not answer");
    private final ProcFs proc;

    ProcessProbe(ProcFs proc) {
        this.proc = proc;
    }

    /**
     * A process as it was seen.
     *
     * @param uid its real uid; null where it could not be read, and then its membership is unknown too
     * @param membership what the process says of itself
     */
    record Seen(ProcessId id, @Nullable Long uid, String command, Membership membership, boolean kernelThread) {}

    /** Nothing where there is no such process any more; a zombie is gone. */
    Optional<Seen> see(int pid) throws IOException {
        var before = proc.stat(pid);
        if (before.isEmpty() || before.get().isZombie()) {
            return Optional.empty();
        }
        var uid = uid(pid);
        var membership = uid == null
                ? UID_UNKNOWN
                : membership(new ProcessId(pid, before.get().startTime()), uid, before.get());
        // Only if it is still the same process do the parts belong together.
        var stat = proc.stat(pid);
        if (stat.isEmpty()
                || stat.get().isZombie()
                || stat.get().startTime() != before.get().startTime()) {
            return Optional.empty();
        }
        return Optional.of(new Seen(
                new ProcessId(pid, stat.get().startTime()),
                uid,
                stat.get().command(),
                membership,
                stat.get().isKernelThread()));
    }

    /** Whether this very process is there no longer; what cannot be told is not so. */
    boolean hasEnded(ProcessId id) {
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
                // The kernel shows an empty environment while a process ends or is being executed. That is no answer.
                return new Membership.Unknown("its environment cannot be seen at this moment");
            }
            return Environ.membership(environ);
        } catch (AccessDeniedException e) {
            return Membership.NOT_PERMITTED;
        } catch (NoAnswerException e) {
            return SILENT;
        } catch (IOException e) {
            return new Membership.Unknown("its environment cannot be read: " + e.getMessage());
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
