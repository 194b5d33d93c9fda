package dev.genv.enforcer.enforcement.event;

import java.time.Instant;

/**
 * Something that happened.
 *
 * @param sequence its position among all events, higher than that of every earlier one. It decides the order, because the wall clock
 *     may be set back
 * @param at when it was recorded, by the wall clock
 */
public record Event(long sequence, Instant at, EventContent content) {}
