package dev.genv.enforcer.enforcement;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadFactory;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The workers of the hosts that there are at this moment. */
final class Workers {
    private final Supplier<List<Host>> hosts;
    private final ThreadFactory threads;
    private final Ticker ticker;
    private volatile Map<String, HostWorker> byName = Map.of();

    /**
     * Prepares them.
     *
     * @param hosts asked at the beginning of every cycle; no two have the same name
     * @param remote whether the hosts are other machines: their work is waiting, and there may be thousands of them
     */
    Workers(Supplier<List<Host>> hosts, boolean remote, Ticker ticker) {
        this.hosts = hosts;
        this.ticker = ticker;
        // Our own machine gets no virtual thread: a host that computes or hangs in the kernel would keep the carrier
        // that
        // others need, and on a machine with one CPU not even the deadline would be noticed.
        threads = remote
                ? Thread.ofVirtual().name("host-", 0).factory()
                : Thread.ofPlatform().daemon().name("host-", 0).factory();
    }

    /** Takes in which hosts there are now, and gives up those that are there no longer. */
    List<HostWorker> update() {
        var before = byName;
        var now = new LinkedHashMap<String, HostWorker>();
        for (var host : hosts.get()) {
            var known = before.get(host.name());
            now.put(
                    host.name(),
                    known != null && known.host().equals(host) ? known : new HostWorker(host, threads, ticker));
        }
        byName = now;
        before.values().stream()
                .filter(worker -> !worker.equals(now.get(worker.host().name())))
                .forEach(HostWorker::abandon);
        return List.copyOf(now.values());
    }

    @Nullable
    HostWorker of(String host) {
        return byName.get(host);
    }

    /** How many hosts there are. */
    int count() {
        return byName.size();
    }

    void abandon() {
        byName.values().forEach(HostWorker::abandon);
    }
}
