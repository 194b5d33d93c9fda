package dev.genv.enforcer.api;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.HostReport;
import dev.genv.enforcer.enforcement.Pace;
import dev.genv.enforcer.model.Problem;
import java.util.stream.Collectors;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.HealthCheckResponseBuilder;
import org.eclipse.microprofile.health.Readiness;

/**
 * Ready if the last cycle saw everything, not too long ago, and nothing is missing to act upon it. Of many machines there is
 * always one that is down: for those it is enough to see one, and the metrics of each tell the rest.
 */
@Readiness
public class Ready implements HealthCheck {
    private static final int MOST_TOLD = 20;
    private final Enforcer enforcer;
    private final Pace pace;
    private final ApiToken token;

    Ready(Enforcer enforcer, Pace pace, ApiToken token) {
        this.enforcer = enforcer;
        this.pace = pace;
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
        if (pace.isStale(since)) {
            return notReady(answer, "the last cycle ended %d seconds ago".formatted(since.toSeconds()));
        }
        var report = latest.get();
        report.hosts().stream()
                .filter(host -> !isFine(host))
                .limit(MOST_TOLD)
                .forEach(host -> answer.withData(host.host(), problems(host)));
        var ready = report.fleet().remote()
                ? report.error() == null
                        && (report.hosts().isEmpty() || report.hosts().stream().anyMatch(Ready::isFine))
                : report.isComplete() && report.hosts().stream().allMatch(Ready::isFine);
        if (ready && token.problem().isPresent()) {
            return notReady(
                    answer, "the API token is not known: " + token.problem().get());
        }
        return ready ? answer.up().build() : notReady(answer, reason(report));
    }

    private static String reason(CycleReport report) {
        if (report.error() != null) {
            return "the last cycle broke off: " + report.error();
        }
        return report.isComplete() ? "privileges are missing" : "the last cycle could not see everything";
    }

    private static boolean isFine(HostReport host) {
        return host.isComplete() && host.missingRights().isEmpty();
    }

    private static String problems(HostReport host) {
        return host.problems().stream().map(Problem::detail).collect(Collectors.joining("; "));
    }

    private static HealthCheckResponse notReady(HealthCheckResponseBuilder answer, String reason) {
        return answer.withData("reason", reason).down().build();
    }
}
