package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.CycleMemory.Restoration;
import dev.genv.enforcer.enforcement.record.DeliveryCursors;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.Journal;
import dev.genv.enforcer.enforcement.record.Journal.Restored;
import dev.genv.enforcer.enforcement.record.Journal.Restored.Scope;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** What the cycles record: for readers in memory, and for later runs of the service in the journal. */
public final class Records {
    private final ViolationRegistry registry;
    private final EventLog events;
    private final Journal journal;
    private final DeliveryCursors deliveries = new DeliveryCursors();
    private final List<EventContent> atStart;
    private final Restoration restoration = new Restoration();
    private Restored restored;

    /**
     * Restores the violations and the events of earlier runs into an empty registry and log, so that no reader sees the service without
     * them.
     */
    public Records(ViolationRegistry registry, EventLog events, Journal journal, List<EventContent> atStart) {
        this.registry = registry;
        this.events = events;
        this.journal = journal;
        var read = journal.takeRestored().orElse(Restored.NOTHING);
        restored = read;
        restoration.restore("resolved violations", () -> registry.restoreResolved(read.resolved()));
        var over = new ArrayList<ViolationRecord>();
        read.memory().ifPresent(memory -> {
            restoration.restore("deliveries", () -> deliveries.restore(memory.state()));
            restoration.restore("positions of readers", () -> events.restore(memory.state()));
            restoration.restore("active violations", () -> over.addAll(restore(memory)));
        });
        restoration.restore("events", () -> events.continueFrom(read.events(), read.lastSequence()));
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

    Restoration restoration() {
        return restoration;
    }

    /** The events of the start, and of violations that are over since the last run. */
    List<EventContent> atStart() {
        return atStart;
    }

    /** Returns what the earlier runs left, once, so that it does not stay in memory. */
    Restored takeRestored() {
        var taken = restored;
        restored = Restored.NOTHING;
        return taken;
    }

    private List<ViolationRecord> restore(Restored.Memory memory) {
        return registry.restore(memory.state(), memory.cycle(), memory.scope() == Scope.WITHOUT_PROCESSES);
    }
}
