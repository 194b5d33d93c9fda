package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.action.ActionRecord;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The privileges that a cycle found to be missing because the kernel denied an access, for example with a security module.
 * They count like the missing privileges that a host reports.
 */
final class DeniedPrivileges {
    /** A security module can prevent reading and signalling despite all capabilities. */
    private static final String APPARMOR = "APPARMOR";

    private static final String KILL = "KILL";
    private static final List<String> TO_READ = List.of("SYS_PTRACE", "DAC_READ_SEARCH");

    private static final String NOT_READ =
            ": the kernel denied access to the environment of a process: run as root with --cap-add SYS_PTRACE --cap-add DAC_READ_SEARCH";
    private static final String NOT_SIGNALLED =
            ": the kernel denied a signal to a process: run as root with --cap-add KILL";

    private DeniedPrivileges() {}

    /** Returns the reports with these privileges added to the missing ones, and a problem for each. */
    static List<HostReport> addTo(List<HostReport> hosts, List<ActionRecord> actions) {
        var unsignalled = actions.stream()
                .filter(action -> action.result().outcome() == Outcome.DENIED)
                .map(action -> action.planned().action().host())
                .collect(Collectors.toUnmodifiableSet());
        return hosts.stream().map(host -> addTo(host, unsignalled)).toList();
    }

    private static HostReport addTo(HostReport host, Set<String> unsignalled) {
        var known = host.missingPrivileges();
        var denied = new LinkedHashMap<String, String>();
        if (!known.contains(APPARMOR)) {
            // If one of the two is known to be missing, it is the reason; otherwise it may be either.
            if (Collections.disjoint(known, TO_READ) && isUnreadable(host)) {
                TO_READ.forEach(privilege -> denied.put(privilege, NOT_READ));
            }
            if (!known.contains(KILL) && unsignalled.contains(host.host())) {
                denied.put(KILL, NOT_SIGNALLED);
            }
        }
        return denied.isEmpty() ? host : host.withMissingPrivileges(List.copyOf(denied.keySet()), problems(denied));
    }

    private static List<Problem> problems(Map<String, String> denied) {
        return denied.entrySet().stream()
                .map(each -> new Problem(ProblemCode.MISSING_PRIVILEGE, each.getKey() + each.getValue()))
                .toList();
    }

    private static boolean isUnreadable(HostReport host) {
        return host.snapshot().allProcesses().stream()
                .anyMatch(process -> process.membership().equals(Membership.NOT_PERMITTED));
    }
}
