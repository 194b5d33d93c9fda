package dev.genv.enforcer.enforcement.event;

import java.util.List;

/**
 * The events after a position, oldest first.
 *
 * @param hasGap whether events between that position and the first of these are no longer in memory
 */
public record EventPage(List<Event> events, boolean hasGap) {
    public EventPage {
        events = List.copyOf(events);
    }
}
