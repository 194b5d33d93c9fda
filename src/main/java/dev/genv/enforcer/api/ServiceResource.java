package dev.genv.enforcer.api;

import dev.genv.enforcer.api.view.HostView;
import dev.genv.enforcer.api.view.SnapshotView;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerConfig;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.PolicyValues.Kind;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.recording.DeviceHistory;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.eclipse.microprofile.openapi.annotations.media.Schema;
import org.jspecify.annotations.Nullable;

/** The service as it is now. */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
public class ServiceResource {
    static final String SNAPSHOT = "/snapshot";

    private final Enforcer enforcer;
    private final EnforcerConfig config;
    private final PolicySettings settings;
    private final CycleSchedule schedule;
    private final DeviceHistory history;
    private final Ticker ticker;

    ServiceResource(
            Enforcer enforcer,
            EnforcerConfig config,
            PolicySettings settings,
            CycleSchedule schedule,
            DeviceHistory history,
            Ticker ticker) {
        this.enforcer = enforcer;
        this.config = config;
        this.settings = settings;
        this.schedule = schedule;
        this.history = history;
        this.ticker = ticker;
    }

    @GET
    @Path("/hosts")
    public List<HostView> listHosts() {
        return enforcer.latest().map(report -> HostView.of(report, history)).orElse(List.of());
    }

    @GET
    @Path(SNAPSHOT)
    public Map<String, SnapshotView> showSnapshot() {
        return enforcer.latest().stream()
                .flatMap(report -> report.fleet().snapshots().stream())
                .collect(Collectors.toMap(
                        Snapshot::host, SnapshotView::of, (one, _) -> one, LinkedHashMap<String, SnapshotView>::new));
    }

    @GET
    @Path("/status")
    public StatusView showStatus() {
        return StatusView.of(
                settings.version(), enforcer, schedule, LocalDate.ofInstant(ticker.now(), ZoneId.systemDefault()));
    }

    @GET
    @Path("/policy")
    public PolicyView showPolicy() {
        return PolicyView.of(config, settings, ticker.now());
    }

    /**
     * Whether the cycles of the service end, and without an error. Otherwise the hosts and violations are those of an earlier time.
     */
    public record StatusView(
            String version,
            Instant startedAt,
            @Nullable Instant lastCycleAt,
            double secondsSinceLastCycle,
            boolean late,
            @Nullable String error,
            LocalDate today) {
        public static StatusView of(String version, Enforcer enforcer, CycleSchedule schedule, LocalDate today) {
            var since = enforcer.sinceLatest();
            var latest = enforcer.latest();
            return new StatusView(
                    version,
                    enforcer.startedAt(),
                    latest.map(report -> report.startedAt().plus(report.duration()))
                            .orElse(null),
                    since.toMillis() / 1000.0,
                    schedule.isStale(since),
                    latest.map(CycleReport::error).orElse(null),
                    today);
        }
    }

    /**
     * What the cycles do not need to know.
     *
     * @param version of the service
     */
    public record PolicySettings(String version, List<ProtectedExecutable> protectedExecutables) {}

    /** The running policy. */
    public record PolicyView(
            String version,
            String mode,
            boolean terminateProcesses,
            double intervalSeconds,
            double graceSeconds,
            @Nullable Double killAfterSeconds,
            double policyGraceSeconds,
            String timeZone,
            List<String> exemptUsers,
            List<ProtectedProgramView> protectedPrograms,
            List<Rule> rules,
            @Schema(ref = "#/components/schemas/Policy") Map<String, Object> policy,
            @Schema(ref = "#/components/schemas/Policy") Map<String, Object> policyFile,
            Map<String, String> sources,
            @Nullable ChangeView nextChange) {
        /** The next time at which other values apply, and the changes in clauses. */
        public record ChangeView(Instant at, List<String> changes) {}

        /** A program whose processes are never terminated if they are root's or this user's; {@code *} stands for all users. */
        public record ProtectedProgramView(String path, String user) {}

        /** A rule. */
        public record Rule(
                String name,
                String title,
                String advice,
                String mode,
                boolean limited,
                @Nullable Integer limit,
                Map<String, Integer> limitsOfGroups,
                Map<String, Integer> limitsOfUsers) {
            private static Rule of(RuleDefinition rule, Policy policy) {
                var its = policy.configOf(rule);
                return new Rule(
                        rule.name(),
                        rule.title(),
                        rule.advice(),
                        its.mode().name().toLowerCase(Locale.ROOT),
                        rule.hasLimit(),
                        its.limits().general(),
                        new TreeMap<>(its.limits().perGroup()),
                        new TreeMap<>(its.limits().perUser()));
            }
        }

        public static PolicyView of(EnforcerConfig config, PolicySettings settings, Instant now) {
            var current = config.policies().get();
            var document = current.document().form(now);
            var form = new LinkedHashMap<>(document);
            form.putAll(current.values().form());
            var limits = config.safetyLimits();
            var killAfter = limits.killAfter();
            return new PolicyView(
                    settings.version(),
                    config.mode().name().toLowerCase(Locale.ROOT),
                    config.signals(),
                    seconds(config.timing().interval()),
                    seconds(limits.grace()),
                    killAfter == null ? null : seconds(killAfter),
                    seconds(config.policies().grace()),
                    current.document().zone().getId(),
                    current.values().names(Kind.EXEMPT_USER),
                    settings.protectedExecutables().stream()
                            .map(program ->
                                    new ProtectedProgramView(program.path().toString(), program.user()))
                            .toList(),
                    Rules.definitions().stream()
                            .map(rule -> Rule.of(rule, current.policy()))
                            .toList(),
                    form,
                    document,
                    current.values().sources(),
                    current.next()
                            .map(next -> new ChangeView(next.at(), next.changes()))
                            .orElse(null));
        }

        private static double seconds(Duration duration) {
            return duration.toMillis() / 1000.0;
        }
    }
}
