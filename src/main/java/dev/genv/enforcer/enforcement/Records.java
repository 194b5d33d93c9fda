package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.event.EventLog;
import dev.genv.enforcer.enforcement.violation.ViolationRegistry;

/** What the cycles record for readers. */
public record Records(ViolationRegistry registry, EventLog events) {}
