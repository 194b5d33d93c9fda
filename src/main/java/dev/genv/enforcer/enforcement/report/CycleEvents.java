package dev.genv.enforcer.enforcement.report;

import dev.genv.enforcer.enforcement.event.EventContent;
import dev.genv.enforcer.enforcement.violation.ViolationRegistry;
import java.util.ArrayList;
import java.util.List;

/** The events of a cycle. */
public final class CycleEvents {
    private CycleEvents() {}

    /** Returns the events in their order: problems, new violations, actions, resolved violations. */
    public static List<EventContent> of(ProblemLog.Changes problems, ViolationRegistry.Update update) {
        var events = new ArrayList<EventContent>();
        problems.ended().forEach(each -> events.add(new EventContent.ProblemEnded(each.host(), each.problem())));
        problems.began().forEach(each -> events.add(new EventContent.ProblemBegan(each.host(), each.problem())));
        update.appeared().forEach(each -> events.add(new EventContent.ViolationOpened(each)));
        update.notes().forEach(each -> events.add(new EventContent.ActionRecorded(each.violation(), each.note())));
        update.resolved().forEach(each -> events.add(new EventContent.ViolationResolved(each)));
        return events;
    }
}
