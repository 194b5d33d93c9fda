package dev.genv.enforcer.node;

import dev.genv.enforcer.format.ProcStat;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.observation.Living;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Tells from {@code /proc} who is alive. */
final class ProcLiving implements Living {
    private final ProcFs proc;
    private Optional<Problem> doubt = Optional.empty();

    ProcLiving(ProcFs proc) {
        this.proc = proc;
    }

    @Override
    public List<Environment> among(Collection<Environment> environments) throws IOException {
        var liveness = new Liveness(proc, environments);
        var alive = new ArrayList<Environment>();
        for (var environment : environments) {
            if (liveness.isAlive(environment)) {
                alive.add(liveness.withoutDeadPids(environment));
            }
        }
        doubt = liveness.unsearched().map(Living::kernelsUnknown);
        return alive;
    }

    @Override
    public Optional<Problem> doubt() {
        return doubt;
    }

    @Override
    public Map<Integer, Long> uids(Collection<Environment> environments) throws IOException {
        var uids = new HashMap<Integer, Long>();
        for (var environment : environments) {
            for (var pid : environment.pids()) {
                addUid(pid, uids);
            }
            var shell = environment.shell();
            if (shell.isPresent()) {
                addUid(shell.get(), uids);
            }
        }
        return uids;
    }

    private void addUid(int pid, Map<Integer, Long> uids) throws IOException {
        var uid = uids.containsKey(pid) ? null : proc.realUid(pid);
        if (uid != null) {
            uids.put(pid, uid);
        }
    }

    @Override
    public Optional<Long> startOf(int pid) throws IOException {
        return proc.stat(pid).map(ProcStat::startTime);
    }
}
