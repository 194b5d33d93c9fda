package dev.genv.enforcer.api;

import dev.genv.enforcer.enforcement.ActionRecord;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.HostReport;
import dev.genv.enforcer.enforcement.Outcome;
import dev.genv.enforcer.model.Membership;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A host as the last cycle saw it.
 *
 * @param status {@code ok}, {@code degraded} where a part could not be seen, {@code unreachable}
 * @param lookMs how long the look took, in milliseconds
 * @param devices how many devices the GPU tool lists
 * @param missingRights what the service was not given there, such as {@code SYS_PTRACE}, also where it was only noticed in
 *     the last cycle
 */
public record HostView(
        String host,
        String status,
        @Nullable Instant lastLook,
        long lookMs,
        @Nullable String gpuSource,
        @Nullable String driver,
        int devices,
        int processes,
        int environments,
        List<ProblemView> problems,
        List<String> missingRights) {
    /** What it takes to read the environments of others' processes. */
    private static final List<String> TO_READ = List.of("SYS_PTRACE", "DAC_READ_SEARCH");

    /** Something that could not be read or judged. */
    public record ProblemView(String code, String detail) {}

    static List<HostView> of(CycleReport report) {
        return report.hosts().stream()
                .map(host -> of(
                        host,
                        report.actions().stream()
                                .filter(action ->
                                        action.planned().action().host().equals(host.host()))
                                .toList()))
                .toList();
    }

    private static HostView of(HostReport report, List<ActionRecord> actions) {
        var snapshot = report.snapshot();
        return new HostView(
                report.host(),
                !report.reached() ? "unreachable" : report.isComplete() ? "ok" : "degraded",
                report.lastLook(),
                report.duration().toMillis(),
                report.gpuSource(),
                report.driver(),
                snapshot.listedDevices().size(),
                snapshot.processes().size(),
                snapshot.environments().size(),
                report.problems().stream()
                        .map(problem -> new ProblemView(problem.code().label(), problem.detail()))
                        .toList(),
                missingRights(report, actions));
    }

    private static List<String> missingRights(HostReport report, List<ActionRecord> actions) {
        var rights = new LinkedHashSet<>(report.missingRights());
        // Where one of the two is known to be missing, that is why; where neither is, nobody can tell which it was.
        if (Collections.disjoint(rights, TO_READ) && isRefused(report)) {
            rights.addAll(TO_READ);
        }
        if (actions.stream().anyMatch(action -> action.result().outcome() == Outcome.DENIED)) {
            rights.add("KILL");
        }
        return List.copyOf(rights);
    }

    private static boolean isRefused(HostReport report) {
        return report.snapshot().processes().stream()
                .anyMatch(process -> process.membership() instanceof Membership.Unknown unknown
                        && unknown.equals(Membership.NOT_PERMITTED));
    }
}
