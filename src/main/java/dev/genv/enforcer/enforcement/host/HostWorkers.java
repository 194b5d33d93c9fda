package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.observation.Listings;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The workers of the current hosts. */
public final class HostWorkers {
    private final Supplier<List<Host>> hosts;
    private final Executor threads;
    private final Ticker ticker;
    private volatile Map<String, HostWorker> byName = Map.of();

    public HostWorkers(Supplier<List<Host>> hosts, boolean remote, Ticker ticker) {
        this.hosts = hosts;
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
     * Updates the workers to the current hosts, and abandons those of hosts that left the list. A new host continues with the remembered
     * listings.
     */
    public List<HostWorker> update(Function<String, Listings> listings) {
        var before = byName;
        var now = new LinkedHashMap<String, HostWorker>();
        for (var host : hosts.get()) {
            var known = before.get(host.name());
            if (known != null && known.host().equals(host)) {
                now.put(host.name(), known);
            } else {
                host.restore(listings.apply(host.name()));
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

    /** Returns the pids that environments of a host list or listed, as its last observation found them. */
    public Listings listings(String host) {
        var worker = byName.get(host);
        return worker == null ? Listings.NONE : worker.host().listings();
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
