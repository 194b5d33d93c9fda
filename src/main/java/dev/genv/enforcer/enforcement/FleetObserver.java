package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.clock.ObservationAge;
import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.history.History;
import dev.genv.enforcer.enforcement.history.SeenFleet;
import dev.genv.enforcer.enforcement.host.HostWorkers;
import dev.genv.enforcer.enforcement.host.ObservationCollector;
import dev.genv.enforcer.model.HostProcess;
import java.util.Set;

/** Observes the fleet at the beginning of a cycle, and records its state. */
final class FleetObserver {
    private final EnforcerConfig config;
    private final HostWorkers workers;
    private final History history;
    private final ObservationCollector collector;
    private final Ticker ticker;

    FleetObserver(EnforcerConfig config, HostWorkers workers, History history, Ticker ticker) {
        this.config = config;
        this.workers = workers;
        this.history = history;
        this.ticker = ticker;
        collector = new ObservationCollector(config.observationTimeout(), ticker);
    }

    /** Observes the present hosts, and verifies whether these processes have exited. */
    SeenFleet observe(Set<HostProcess> verified) throws InterruptedException {
        var age = new ObservationAge(ticker, config.interval(), config.observationTimeout());
        var hosts = collector.collect(workers.update(history::listings), verified);
        age.observed();
        return history.record(new SeenFleet.Observed(hosts, config.remote(), age, ticker.now()));
    }
}
