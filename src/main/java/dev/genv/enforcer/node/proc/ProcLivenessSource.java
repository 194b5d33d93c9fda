package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.format.ProcStat;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.observation.state.LivenessSource;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Decides from {@code /proc} which environments are active. */
public final class ProcLivenessSource implements LivenessSource {
    private final ProcFs proc;
    private Optional<Problem> uncertainty = Optional.empty();

    public ProcLivenessSource(ProcFs proc) {
        this.proc = proc;
    }

    @Override
    public List<Environment> alive(Collection<Environment> environments) throws IOException {
        var liveness = new Liveness(proc, environments);
        var alive = new ArrayList<Environment>();
        for (var environment : environments) {
            if (liveness.isAlive(environment)) {
                alive.add(liveness.withoutDeadPids(environment));
            }
        }
        uncertainty = liveness.unsearched().map(LivenessSource::kernelsUnknown);
        return alive;
    }

    @Override
    public Optional<Problem> uncertainty() {
        return uncertainty;
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
