package dev.genv.enforcer.observation.process;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.ProcessFacts;
import dev.genv.enforcer.facts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.facts.Reading.Failure;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;

/** The processes whose environs were not read because no time or no reader was left. They are read first in the next observation. */
public final class UnreadProcesses {
    private List<Integer> pids = List.of();

    /** Returns their pids. Those that wait the longest come first, so every process is read in some observation. */
    public List<Integer> pids() {
        return pids;
    }

    /** Finds them, and returns their number. */
    public Found<Integer> observe(List<ProcessFacts> processes) {
        var unread = new LinkedHashMap<Integer, String>();
        for (var process : processes) {
            if (process.before() instanceof Reading.Value<Bytes>
                    && process.environ() instanceof Reading.Failed<EnvironFacts>(var failure, var reason)
                    && failure == Failure.NO_TIME) {
                unread.put(process.pid(), reason);
            }
        }
        var inOrder = new LinkedHashSet<>(pids);
        inOrder.retainAll(unread.keySet());
        inOrder.addAll(unread.keySet());
        pids = List.copyOf(inOrder);
        var found = Found.of(unread.size());
        if (unread.isEmpty()) {
            return found;
        }
        var example = unread.firstEntry();
        return found.without(SnapshotPart.EVERY_ENVIRON)
                .with(new Problem(
                        ProblemCode.PROCESSES_UNREAD,
                        "%d of %d processes were not read, such as process %d: %s"
                                .formatted(unread.size(), processes.size(), example.getKey(), example.getValue())));
    }
}
