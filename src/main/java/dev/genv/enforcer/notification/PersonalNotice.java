package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * A notice for one user.
 *
 * @param uid the real uid of the processes, or of the live pids of the environment that loses a GPU. It is a fact of the kernel: what
 *     genv's files say of a user is never used for this
 * @param processes the processes of this uid that the notice concerns; none if it concerns only the environment
 */
public record PersonalNotice(Notice notice, long uid, List<GpuProcess> processes) {
    public PersonalNotice {
        processes = List.copyOf(processes);
    }

    /**
     * Returns the notices for each user concerned.
     *
     * @param inAudit whether users are informed of violations on which the service does not act
     * @param isPerson whether the uid of a process stands for a person
     * @param owners the uids of the environment of an attachment
     */
    public static List<PersonalNotice> of(
            Notice notice,
            boolean inAudit,
            Predicate<GpuProcess> isPerson,
            Function<ActionNote.TargetAttachment, Set<Long>> owners) {
        var byUid = new LinkedHashMap<Long, List<GpuProcess>>();
        processes(notice, inAudit).filter(isPerson).forEach(process -> {
            var uid = process.uid();
            if (uid != null) {
                byUid.computeIfAbsent(uid, _ -> new ArrayList<>()).add(process);
            }
        });
        concerned(notice)
                .map(ActionNote::target)
                .filter(ActionNote.TargetAttachment.class::isInstance)
                .map(ActionNote.TargetAttachment.class::cast)
                .flatMap(attachment -> owners.apply(attachment).stream())
                .forEach(uid -> byUid.putIfAbsent(uid, List.of()));
        return byUid.entrySet().stream()
                .map(entry -> new PersonalNotice(notice, entry.getKey(), entry.getValue()))
                .toList();
    }

    public ViolationRecord violation() {
        return notice.violation();
    }

    private static Stream<GpuProcess> processes(Notice notice, boolean inAudit) {
        var all = notice.violation().violation().processes().stream();
        return notice.kind() == NoticeKind.OPENED
                ? all.filter(_ -> inAudit && notice.violation().mode() == RuleMode.AUDIT)
                : all.filter(process -> concerned(notice).anyMatch(action -> concerns(action, process)));
    }

    /** Returns the actions of which users are informed: at the end of a violation the warnings, if the service did not act after them. */
    private static Stream<ActionNote> concerned(Notice notice) {
        var violation = notice.violation();
        var action = Stream.ofNullable(notice.action());
        return switch (notice.kind()) {
            case OPENED -> Stream.empty();
            case WARNED -> action;
            case ACTED -> action.filter(each -> each.outcome().hasEffect());
            case RESOLVED ->
                violation.actions().stream().anyMatch(each -> each.outcome().hasEffect())
                        ? Stream.empty()
                        : violation.actions().stream().filter(each -> Notice.isWarning(violation, each));
        };
    }

    private static boolean concerns(ActionNote action, GpuProcess process) {
        return switch (action.target()) {
            case ActionNote.TargetProcess(var _, var pid) -> process.pid() == pid;
            case ActionNote.TargetAttachment(var _, var environment, var device) ->
                process.names(environment) && process.uses(device);
        };
    }
}
