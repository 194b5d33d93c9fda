package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.action.Safeguards;
import dev.genv.enforcer.enforcement.action.Terminations;
import dev.genv.enforcer.enforcement.history.History;
import dev.genv.enforcer.enforcement.host.CycleClock;
import dev.genv.enforcer.enforcement.host.HostWorkers;
import dev.genv.enforcer.enforcement.host.ObservationCollector;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.ActionIntents;
import dev.genv.enforcer.testsupport.fake.Records;
import java.util.List;

/** Wires an enforcer as the service does. */
public final class EnforcerFactory {
    private EnforcerFactory() {}

    public static Enforcer create(
            EnforcerConfig config, Records records, Ticker ticker, List<CycleListener> listeners) {
        var restoration = new Restoration(records.store(), records.atStart());
        var events = restoration.restore(records.events());
        var deliveries = restoration.restore(records.deliveries());
        var registry = restoration.restore(records.registry());
        var intents = new ActionIntents(records.store(), restoration.lastIntent(), ticker);
        var limits = config.safetyLimits();
        var clock = new CycleClock(ticker, config.interval());
        var history = new History(config.enforcement(), config.interval(), clock.ticker());
        var terminations = new Terminations(limits.killAfter(), limits.compliancePeriod(), clock.ticker());
        var safeguards = new Safeguards(config.mode(), config.enforcement(), limits.maxTerminations(), clock.ticker());
        var workers = new HostWorkers(config.hosts(), config.remote(), ticker);
        var store = new CycleStore(
                records.store(),
                restoration,
                registry,
                events,
                deliveries,
                history,
                terminations,
                intents,
                clock,
                ticker);
        return new Enforcer(
                config,
                restoration,
                workers,
                new ObservationCollector(config.observationTimeout(), ticker),
                history,
                terminations,
                safeguards,
                intents,
                new ActionDispatcher(config, workers, intents, terminations, ticker),
                registry,
                new CycleRecorder(
                        config, registry, events, intents, store, safeguards, terminations, clock, listeners, ticker),
                listeners,
                ticker);
    }
}
