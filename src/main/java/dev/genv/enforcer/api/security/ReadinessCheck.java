package dev.genv.enforcer.api.security;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.model.Problem;
import java.util.stream.Collectors;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.HealthCheckResponseBuilder;
import org.eclipse.microprofile.health.Readiness;

/**
 * Readiness: the last cycle is recent, it observed the node completely, and no privilege is missing. With many machines over SSH, one
 * of them is often down, so one observed machine is enough; the metrics show the others.
 */
@Readiness
public class ReadinessCheck implements HealthCheck {
    private static final int MAX_REPORTED = 20;
    private final Enforcer enforcer;
    private final CycleSchedule cycleSchedule;
    private final ApiToken token;

    ReadinessCheck(Enforcer enforcer, CycleSchedule cycleSchedule, ApiToken token) {
        this.enforcer = enforcer;
        this.cycleSchedule = cycleSchedule;
        this.token = token;
    }

    @Override
    public HealthCheckResponse call() {
        var answer = HealthCheckResponse.named("last cycle");
        var latest = enforcer.latest();
        if (latest.isEmpty()) {
            return notReady(answer, "no cycle has ended yet");
        }
        var since = enforcer.sinceLatest();
        if (cycleSchedule.isStale(since)) {
            return notReady(answer, "the last cycle ended %d seconds ago".formatted(since.toSeconds()));
        }
        var report = latest.get();
        report.hosts().stream()
                .filter(host -> !isFine(host))
                .limit(MAX_REPORTED)
                .forEach(host -> answer.withData(host.host(), problems(host)));
        var ready = report.fleet().remote()
                ? report.error() == null
                        && (report.hosts().isEmpty() || report.hosts().stream().anyMatch(ReadinessCheck::isFine))
                : report.isComplete() && report.hosts().stream().allMatch(ReadinessCheck::isFine);
        if (ready && token.problem().isPresent()) {
            return notReady(
                    answer, "the API token is unknown: " + token.problem().get());
        }
        return ready ? answer.up().build() : notReady(answer, reason(report));
    }

    private static String reason(CycleReport report) {
        if (report.error() != null) {
            return "the last cycle failed: " + report.error();
        }
        return report.isComplete() ? "privileges are missing" : "the last cycle could not observe everything";
    }

    private static boolean isFine(HostReport host) {
        return host.isComplete() && host.missingPrivileges().isEmpty();
    }

    private static String problems(HostReport host) {
        return host.problems().stream().map(Problem::detail).collect(Collectors.joining("; "));
    }

    private static HealthCheckResponse notReady(HealthCheckResponseBuilder answer, String reason) {
        return answer.withData("reason", reason).down().build();
    }
}
