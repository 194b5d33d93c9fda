package dev.genv.enforcer.testsupport.fake;

import dev.genv.enforcer.enforcement.record.DeliveryCursors;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.Store;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import java.util.List;

/** Where an enforcer of a test records its cycles. */
public record Records(
        ViolationRegistry registry,
        EventLog events,
        DeliveryCursors deliveries,
        Store store,
        List<EventContent> atStart) {
    public Records(ViolationRegistry registry, EventLog events, Store store, List<EventContent> atStart) {
        this(registry, events, new DeliveryCursors(), store, atStart);
    }
}
