package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.delivery.DeliveryCursors;
import dev.genv.enforcer.enforcement.event.EventContent;
import dev.genv.enforcer.enforcement.event.EventLog;
import dev.genv.enforcer.enforcement.journal.Journal;
import dev.genv.enforcer.enforcement.violation.ViolationRegistry;
import java.util.List;

/**
 * What the cycles record: for readers in memory, and for later runs of the service in the journal.
 *
 * @param deliveries how far the deliveries of events came
 * @param atStart the events of the start of the service
 */
public record Records(
        ViolationRegistry registry,
        EventLog events,
        Journal journal,
        DeliveryCursors deliveries,
        List<EventContent> atStart) {}
