package dev.genv.enforcer.node.kubelet;

import dev.genv.enforcer.enforcement.host.KeptThreads;
import dev.genv.enforcer.facts.PodFacts;
import dev.genv.enforcer.facts.ProcessFacts;
import dev.genv.enforcer.files.FileTree;
import dev.genv.enforcer.node.proc.ProcFs;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;

/**
 * Reads the names of the kubelet's log files on the host. Only the names are read, on a thread that can be abandoned, because the file
 * system of the logs may not answer.
 */
public final class PodLogs {
    private static final Path PODS = Path.of("/var/log/pods");
    private static final Path CONTAINERS = Path.of("/var/log/containers");
    private static final Duration TIME_LIMIT = Duration.ofMillis(500);
    /** The largest number of files of a directory that are examined. */
    private static final int MOST_FILES = 65_536;

    private final ProcFs proc;
    private final Duration timeLimit;
    /** One more than may read at a time, because a thread takes a moment until it accepts the next read. Abandoned reads keep both. */
    private final Executor threads = KeptThreads.named("pod-logs", 2);

    public PodLogs(ProcFs proc) {
        this(proc, TIME_LIMIT);
    }

    PodLogs(ProcFs proc, Duration timeLimit) {
        this.proc = proc;
        this.timeLimit = timeLimit;
    }

    /** Returns the pods of these processes; none if no cgroup was read that names a pod, or if there is no answer. */
    public PodFacts read(List<ProcessFacts> processes) throws InterruptedException {
        var ids = CgroupIds.of(processes);
        if (ids.isEmpty()) {
            return PodFacts.NONE;
        }
        var task = new FutureTask<>(() -> new PodFacts(names(PODS, ids::isPod), names(CONTAINERS, ids::isContainer)));
        try {
            threads.execute(task);
            return task.get(timeLimit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException | TimeoutException e) {
            return PodFacts.NONE;
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
    }

    private List<String> names(Path directory, Predicate<String> isWanted) {
        var names = new ArrayList<String>();
        try (var files =
                Files.newDirectoryStream(proc.machine().hostFiles().follow(directory, FileTree.Inspection.NONE))) {
            var examined = 0;
            for (var file : files) {
                var name = String.valueOf(file.getFileName());
                if (isWanted.test(name)) {
                    names.add(name);
                }
                if (++examined == MOST_FILES || names.size() == PodFacts.MOST_NAMES) {
                    break;
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            return List.copyOf(names); // no node of Kubernetes, or not permitted
        }
        return List.copyOf(names);
    }
}
