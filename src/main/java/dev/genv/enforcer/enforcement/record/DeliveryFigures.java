package dev.genv.enforcer.enforcement.record;

import java.time.Duration;

/**
 * The figures of one kind of delivery since the start of the service.
 *
 * @param sent deliveries that the receiver accepted
 * @param failed deliveries that were given up
 * @param retried attempts that failed and are repeated
 * @param dropped messages that were never tried, because too many waited or their events were no longer in memory
 * @param waiting messages or events that wait for their delivery
 * @param oldest the age of the oldest one that waits; zero if none waits
 */
public record DeliveryFigures(long sent, long failed, long retried, long dropped, long waiting, Duration oldest) {}
