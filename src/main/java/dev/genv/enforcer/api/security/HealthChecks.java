package dev.genv.enforcer.api.security;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.GpuLossDetector;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.HealthCheckResponseBuilder;
import org.eclipse.microprofile.health.Liveness;
import org.eclipse.microprofile.health.Readiness;
import org.eclipse.microprofile.health.Startup;

/** What a platform such as Kubernetes asks for: whether the service has started, lives, and is ready. */
@Singleton
public record HealthChecks(Enforcer enforcer, CycleSchedule cycleSchedule, GpuLossDetector gpus, ApiToken token) {
    private static final int LONGEST_REASON = 1000;
    private static final int MAX_REPORTED = 20;
    private static final Set<SnapshotPart> EXEMPT_USERS = Set.of(SnapshotPart.EXEMPT_USERS);

    /** Startup: a cycle has ended, with any result. */
    @Produces
    @Singleton
    @Startup
    HealthCheck startup() {
        return () -> HealthCheckResponse.named("first cycle")
                .status(enforcer.latest().isPresent())
                .build();
    }

    /**
     * Liveness: cycles end in time by the monotonic clock, and the container has access to the GPUs. Otherwise the platform should
     * restart the container.
     */
    @Produces
    @Singleton
    @Liveness
    HealthCheck liveness() {
        return () -> {
            var since = enforcer.sinceLatest();
            var answer = HealthCheckResponse.named("cycles").withData("seconds_since_last_cycle", since.toSeconds());
            var reason = cycleSchedule.isStalled(since)
                    ? Optional.of("no cycle has ended for %d seconds".formatted(since.toSeconds()))
                    : gpus.reason().map(why -> SafeText.escape(why, LONGEST_REASON));
            reason.ifPresent(why -> answer.withData("reason", why));
            return answer.status(reason.isEmpty()).build();
        };
    }

    /**
     * Readiness: the last cycle is recent, it observed the node completely, and no privilege is missing. With many machines over SSH, one
     * of them is often down, so one observed machine is enough; the metrics show the others.
     */
    @Produces
    @Singleton
    @Readiness
    HealthCheck readiness() {
        return () -> {
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
            report.fleet().snapshots().stream()
                    .filter(host -> !isFine(host))
                    .limit(MAX_REPORTED)
                    .forEach(host -> answer.withData(host.host(), problems(host)));
            if (!isReady(report)) {
                return notReady(answer, reason(report));
            }
            return token.problem()
                    .map(problem -> notReady(answer, "the API token is unknown: " + problem))
                    .orElseGet(() -> answer.up().build());
        };
    }

    private static boolean isReady(CycleReport report) {
        var hosts = report.fleet().snapshots();
        return report.fleet().remote()
                ? report.error() == null && (hosts.isEmpty() || hosts.stream().anyMatch(HealthChecks::isFine))
                : report.isComplete() && hosts.stream().allMatch(HealthChecks::isFine);
    }

    private static String reason(CycleReport report) {
        if (report.error() != null) {
            return "the last cycle failed: " + report.error();
        }
        if (report.isComplete()) {
            return "privileges are missing";
        }
        return report.fleet().snapshots().stream()
                        .allMatch(host -> host.isReached() && EXEMPT_USERS.containsAll(host.missing()))
                ? "exempt users are not found, so nothing is done to who may be one of them"
                : "the last cycle could not observe everything";
    }

    private static boolean isFine(Snapshot host) {
        return host.isObservedCompletely() && host.details().missingPrivileges().isEmpty();
    }

    private static String problems(Snapshot host) {
        return host.problems().stream().map(Problem::detail).collect(Collectors.joining("; "));
    }

    private static HealthCheckResponse notReady(HealthCheckResponseBuilder answer, String reason) {
        return answer.withData("reason", reason).down().build();
    }
}
