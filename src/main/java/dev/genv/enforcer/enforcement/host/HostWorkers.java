package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.enforcement.host.Host.Remembered;
import dev.genv.enforcer.enforcement.host.HostTasks.HostAnswer;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.policy.PolicyValues;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The workers of the current hosts, which observe them. */
public final class HostWorkers {
    private final Supplier<List<Host>> hosts;
    private final Executor threads;
    private final Duration timeout;
    private final Ticker ticker;
    private final DuplicateHosts duplicateHosts = new DuplicateHosts();
    private final Map<String, HostDetails> lastObserved = new HashMap<>();
    private volatile Map<String, HostWorker> byName = Map.of();

    /** @param timeout the time limit of an observation */
    public HostWorkers(Supplier<List<Host>> hosts, boolean remote, Duration timeout, Ticker ticker) {
        this.hosts = hosts;
        this.timeout = timeout;
        this.ticker = ticker;
        threads = threads(remote);
    }

    /**
     * The node gets a platform thread: a task that computes or hangs in the kernel would block its carrier thread. It is kept for the next
     * cycle, because a new thread costs more than most tasks. A task that never returns keeps its thread, and the next one gets another.
     */
    static Executor threads(boolean remote) {
        return remote
                ? task -> Thread.ofVirtual().name("host").start(task)
                : Executors.newCachedThreadPool(
                        Thread.ofPlatform().daemon().name("host").factory());
    }

    /**
     * Observes the present hosts in parallel, and verifies whether these processes have exited. A host without an answer does not affect the
     * others. The users whom the policy names matter to the observation. A new host continues with what is remembered of it.
     */
    public List<Snapshot> observe(
            Function<String, Remembered> remembered, PolicyValues policy, Set<HostProcess> verified)
            throws InterruptedException {
        var workers = update(remembered); // before the time limit begins
        var byHost = verified.stream()
                .collect(Collectors.groupingBy(
                        HostProcess::host, Collectors.mapping(HostProcess::id, Collectors.toUnmodifiableSet())));
        var tasks = new HostTasks<Snapshot>(HostWorker.Kind.OBSERVE, timeout, ticker);
        for (var worker : workers) {
            var processes = byHost.getOrDefault(worker.host().name(), Set.of());
            worker.abandonIfOlderThan(timeout.multipliedBy(2));
            tasks.start(worker, () -> {
                var mark = ticker.mark();
                worker.host().apply(policy);
                var snapshot = worker.host().observe(processes);
                return snapshot.with(snapshot.details().with(ticker.now(), ticker.since(mark)));
            });
        }
        var answers = tasks.await(tasks.hasReliableHost());
        lastObserved.keySet().retainAll(answers.stream().map(HostAnswer::host).collect(Collectors.toUnmodifiableSet()));
        return duplicateHosts.collapse(answers.stream().map(this::snapshot).toList());
    }

    private Snapshot snapshot(HostAnswer<Snapshot> answer) {
        var host = answer.host();
        var snapshot = answer.value();
        if (snapshot != null) {
            lastObserved.put(host, snapshot.details());
            return snapshot;
        }
        var why = Objects.requireNonNull(answer.failure());
        var problem = new Problem(why.code(), String.valueOf(why.getMessage()));
        return Snapshot.unseen(host, problem)
                .with(HostDetails.unseen(lastObserved.getOrDefault(host, HostDetails.NONE), answer.waited()));
    }

    /** Updates the workers to the current hosts, and abandons those of hosts that are no longer configured. */
    private List<HostWorker> update(Function<String, Remembered> remembered) {
        var before = byName;
        var now = new LinkedHashMap<String, HostWorker>();
        for (var host : hosts.get()) {
            var known = before.get(host.name());
            if (known != null && known.host().equals(host)) {
                now.put(host.name(), known);
            } else {
                host.restore(remembered.apply(host.name()));
                now.put(host.name(), new HostWorker(host, threads, ticker));
            }
        }
        byName = now;
        before.values().stream()
                .filter(worker -> !worker.equals(now.get(worker.host().name())))
                .forEach(HostWorker::abandon);
        return List.copyOf(now.values());
    }

    @Nullable
    public HostWorker worker(String host) {
        return byName.get(host);
    }

    /** Returns what later observations of a host depend on, as its last one found it. */
    public Remembered remembered(String host) {
        var worker = byName.get(host);
        return worker == null ? Remembered.NOTHING : worker.host().remembered();
    }

    public int count() {
        return byName.size();
    }

    /** Whether a task of a host still runs, also one that was abandoned. */
    public boolean areBusy() {
        return byName.values().stream().anyMatch(HostWorker::isBusy);
    }

    public void abandon() {
        byName.values().forEach(HostWorker::abandon);
    }
}
