package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;

/**
 * The processes whose environs were not read because no time or no reader was left. They are read first in the next
 * observation.
 */
final class UnreadProcesses {
    private List<Integer> pids = List.of();

    /** Returns their pids. Those that wait the longest come first, so every process is read in some observation. */
    List<Integer> pids() {
        return pids;
    }

    void observe(List<ProcessFacts> processes, Findings findings) {
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
        if (!unread.isEmpty()) {
            var example = unread.firstEntry();
            findings.miss(SnapshotPart.EVERY_ENVIRON);
            findings.add(
                    ProblemCode.PROCESSES_UNREAD,
                    "%d of %d processes were not read, such as process %d: %s"
                            .formatted(unread.size(), processes.size(), example.getKey(), example.getValue()));
        }
    }
}
