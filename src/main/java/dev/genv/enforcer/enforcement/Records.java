package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.record.DeliveryCursors;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.Store;
import dev.genv.enforcer.enforcement.record.Store.Restored;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.util.ArrayList;
import java.util.List;
import org.jboss.logging.Logger;

/** What the cycles record: for readers in memory, and for later runs of the service in the store. */
public final class Records {
    private static final Logger LOG = Logger.getLogger(Records.class);

    private final ViolationRegistry registry;
    private final EventLog events;
    private final Store store;
    private final DeliveryCursors deliveries = new DeliveryCursors();
    private final List<EventContent> atStart;
    private final List<String> notRestored = new ArrayList<>();
    private Restored restored;

    /**
     * Restores the violations and the events of earlier runs into an empty registry and log, so that no reader sees the service without
     * them.
     */
    public Records(ViolationRegistry registry, EventLog events, Store store, List<EventContent> atStart) {
        this.registry = registry;
        this.events = events;
        this.store = store;
        this.atStart = new ArrayList<>(atStart);
        restored = store.restore();
        notRestored.addAll(restored.unreadable());
        restore("events", () -> events.continueFrom(store::id, restored.events(), restored.lastEvent()));
        restore("deliveries", () -> deliveries.restore(restored.state()));
        restored.cycle()
                .ifPresent(cycle -> restore("violations", () -> {
                    registry.restore(restored.active(), restored.resolved(), cycle, !restored.isSameBoot())
                            .forEach(over -> this.atStart.add(new EventContent.ViolationResolved(over)));
                }));
    }

    /** Restores a part. The service starts without one that fails, because a start that fails would fail again. */
    void restore(String part, Runnable step) {
        try {
            step.run();
        } catch (RuntimeException e) {
            LOG.errorf(e, "The service starts without a part of the database that cannot be restored: %s", part);
            notRestored.add(part);
        }
    }

    /** Returns what could not be restored, once. */
    List<Problem> takeNotRestored() {
        var parts = String.join(", ", notRestored);
        notRestored.clear();
        return parts.isEmpty() ? List.of() : List.of(new Problem(ProblemCode.DATA_NOT_RESTORED, parts));
    }

    public ViolationRegistry registry() {
        return registry;
    }

    public EventLog events() {
        return events;
    }

    public Store store() {
        return store;
    }

    /** How far the deliveries of events came. */
    public DeliveryCursors deliveries() {
        return deliveries;
    }

    /** Whether something that earlier runs stored is lost, so that it is unknown whom they signalled. */
    boolean hasLost() {
        return restored.hasLost() || !notRestored.isEmpty();
    }

    /** The events of the start, and of violations that are over since the last run. */
    List<EventContent> atStart() {
        return List.copyOf(atStart);
    }

    /** Returns what the earlier runs left, once, so that it does not stay in memory. */
    Restored takeRestored() {
        var taken = restored;
        restored = Restored.nothing(taken.hasLost());
        return taken;
    }
}
