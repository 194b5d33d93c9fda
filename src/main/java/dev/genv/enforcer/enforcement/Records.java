package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.delivery.DeliveryCursors;
import dev.genv.enforcer.enforcement.event.EventContent;
import dev.genv.enforcer.enforcement.event.EventLog;
import dev.genv.enforcer.enforcement.journal.Journal;
import dev.genv.enforcer.enforcement.journal.Restored;
import dev.genv.enforcer.enforcement.journal.Restored.Scope;
import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import dev.genv.enforcer.enforcement.violation.ViolationRegistry;
import java.util.List;
import java.util.stream.Stream;

/** What the cycles record: for readers in memory, and for later runs of the service in the journal. */
public final class Records {
    private final ViolationRegistry registry;
    private final EventLog events;
    private final Journal journal;
    private final DeliveryCursors deliveries = new DeliveryCursors();
    private final List<EventContent> atStart;

    /**
     * Restores the violations and the events of earlier runs, so that no reader sees the service without them.
     *
     * @param registry an empty registry
     * @param events an empty log
     * @param atStart the events of the start of the service
     */
    public Records(ViolationRegistry registry, EventLog events, Journal journal, List<EventContent> atStart) {
        this.registry = registry;
        this.events = events;
        this.journal = journal;
        var restored = journal.restored();
        registry.restoreResolved(restored.resolved());
        var over = restored.memory().map(this::restore).orElse(List.of());
        events.continueFrom(restored.events(), restored.lastSequence());
        this.atStart = Stream.concat(
                        atStart.stream(), over.stream().<EventContent>map(EventContent.ViolationResolved::new))
                .toList();
    }

    public ViolationRegistry registry() {
        return registry;
    }

    public EventLog events() {
        return events;
    }

    public Journal journal() {
        return journal;
    }

    /** How far the deliveries of events came. */
    public DeliveryCursors deliveries() {
        return deliveries;
    }

    /** The events of the start, and of violations that are over since the last run. */
    List<EventContent> atStart() {
        return atStart;
    }

    private List<ViolationRecord> restore(Restored.Memory memory) {
        deliveries.restore(memory.state());
        events.restore(memory.state());
        return registry.restore(memory.state(), memory.cycle(), memory.scope() == Scope.WITHOUT_PROCESSES);
    }
}
