package dev.genv.enforcer.testsupport.fake;

import dev.genv.enforcer.enforcement.report.DeliveryCursors;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.EventLog;
import dev.genv.enforcer.enforcement.report.Store;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
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
