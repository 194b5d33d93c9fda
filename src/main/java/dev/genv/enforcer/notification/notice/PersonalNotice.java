package dev.genv.enforcer.notification.notice;

import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import dev.genv.enforcer.enforcement.violation.ViolationRecord.ActionNote;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.policy.definition.RuleMode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * A notice for the user of these processes.
 *
 * @param uid the real uid of the processes, a fact of the kernel. What genv's files say of a user is never used for this
 * @param processes the processes of this uid that the notice concerns
 */
public record PersonalNotice(Notice notice, long uid, List<GpuProcess> processes) {
    public PersonalNotice {
        processes = List.copyOf(processes);
    }

    /**
     * Returns the notices for each user concerned; none if no process is known, for example if only attachments are.
     *
     * @param inAudit whether users are informed of violations on which the service does not act
     * @param isPerson whether the uid of a process stands for a person
     */
    public static List<PersonalNotice> of(Notice notice, boolean inAudit, Predicate<GpuProcess> isPerson) {
        var byUid = new LinkedHashMap<Long, List<GpuProcess>>();
        processes(notice, inAudit).filter(isPerson).forEach(process -> {
            var uid = process.uid();
            if (uid != null) {
                byUid.merge(uid, List.of(process), PersonalNotice::both);
            }
        });
        return byUid.entrySet().stream()
                .map(entry -> new PersonalNotice(notice, entry.getKey(), entry.getValue()))
                .toList();
    }

    public ViolationRecord violation() {
        return notice.violation();
    }

    private static List<GpuProcess> both(List<GpuProcess> some, List<GpuProcess> others) {
        return Stream.concat(some.stream(), others.stream()).toList();
    }

    private static Stream<GpuProcess> processes(Notice notice, boolean inAudit) {
        var action = notice.action();
        var all = notice.violation().violation().processes().stream();
        return switch (notice.kind()) {
            case OPENED -> inAudit && notice.violation().mode() == RuleMode.AUDIT ? all : Stream.empty();
            case WARNED -> all.filter(process -> action != null && concerns(action, process));
            case ACTED ->
                all.filter(process -> action != null && action.outcome().hasEffect() && concerns(action, process));
            case RESOLVED -> warnedInVain(notice.violation());
        };
    }

    /** Returns the processes whose users were warned, if the service did not act after that. */
    private static Stream<GpuProcess> warnedInVain(ViolationRecord violation) {
        if (violation.actions().stream().anyMatch(action -> action.outcome().hasEffect())) {
            return Stream.empty();
        }
        return violation.violation().processes().stream()
                .filter(process -> violation.actions().stream()
                        .filter(action -> Notice.isWarning(violation, action))
                        .anyMatch(action -> concerns(action, process)));
    }

    private static boolean concerns(ActionNote action, GpuProcess process) {
        return switch (action.target()) {
            case ActionNote.TargetProcess(var _, var pid) -> process.pid() == pid;
            case ActionNote.TargetAttachment(var _, var environment, var device) ->
                process.names(environment) && process.uses(device);
        };
    }
}
