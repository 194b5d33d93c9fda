package dev.genv.enforcer.api.report;

import dev.genv.enforcer.api.report.UserList.UserSummary;
import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.api.view.ProcessView;
import dev.genv.enforcer.api.view.ViolationView;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerConfig;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.Accounts.Match;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Device.HostDevice;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.HostUsers;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.PolicyInForce;
import dev.genv.enforcer.policy.PolicyValues.PolicyKey;
import dev.genv.enforcer.policy.PolicyValues.Sourced;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleConfig.Limits.UserLimit;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.recording.DeviceHistory;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.time.Instant;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The users of the fleet. */
@Path(UsersResource.PATH)
@Produces(MediaType.APPLICATION_JSON)
public class UsersResource {
    public static final String PATH = "/users";
    /** The largest number of devices, processes and active violations: users choose how many they have. */
    static final int MAX_ENTRIES = 1000;

    private static final int MAX_RESOLVED = 100;

    private final Enforcer enforcer;
    private final EnforcerConfig config;
    private final ViolationRegistry registry;
    private final DeviceHistory history;
    private final Ticker ticker;

    UsersResource(
            Enforcer enforcer,
            EnforcerConfig config,
            ViolationRegistry registry,
            DeviceHistory history,
            Ticker ticker) {
        this.enforcer = enforcer;
        this.config = config;
        this.registry = registry;
        this.history = history;
        this.ticker = ticker;
    }

    @GET
    public List<UserSummary> list() {
        return enforcer.latest()
                .map(report -> new UserList(report.fleet(), config.policy(), registry, history).view())
                .orElse(List.of());
    }

    @GET
    @Path("/{name}")
    public UserView get(String name) {
        var latest = enforcer.latest();
        return UserView.of(name, config.policies().get(), registry, latest, ticker.now())
                .orElseThrow(() -> unknown(name, latest));
    }

    private static ApiException unknown(String name, Optional<CycleReport> latest) {
        if (latest.isEmpty()) {
            return new ApiException(503, "no cycle has ended yet");
        }
        var error = latest.get().error();
        return error == null
                ? new ApiException(404, "no observed host and no violation knows a user \"%s\"".formatted(name))
                : new ApiException(503, "the last cycle failed: " + error);
    }

    /** What is known of a user. */
    public record UserView(
            String user,
            @Nullable Integer deviceLimit,
            List<LimitView> limits,
            int devicesHeld,
            List<AttachedView> devices,
            List<UserProcessView> processes,
            List<ViolationView> violations) {
        /** Returns the view; empty if neither a host nor a violation knows the user. */
        static Optional<UserView> of(
                String user,
                PolicyInForce current,
                ViolationRegistry registry,
                Optional<CycleReport> latest,
                Instant now) {
            var fleet = latest.map(CycleReport::fleet).orElseGet(() -> new Fleet(List.of(), false));
            var hosts = fleet.snapshots().stream()
                    .map(host -> new UserOnHost(user, host))
                    .toList();
            Predicate<ViolationRecord> isOfUser = entry -> entry.violation().isOfUser(user);
            var violations = Stream.of(
                            registry.find(isOfUser.and(ViolationRecord::active), MAX_ENTRIES),
                            registry.find(isOfUser.and(entry -> !entry.active()), MAX_RESOLVED))
                    .flatMap(found -> found.stream().map(ViolationView::of))
                    .toList();
            if (violations.isEmpty() && hosts.stream().noneMatch(UserOnHost::isKnown)) {
                return Optional.empty();
            }
            Function<String, Match> isUser = limited ->
                    limited.equals(user) ? Match.YES : Match.any(hosts.stream().flatMap(host -> host.match(limited)));
            Function<String, Match> isInGroup =
                    group -> fleet.isInGroup(group, user, hosts.stream().flatMap(host -> host.isIn(group)));
            var limit = current.policy().limitsOf(Rules.MAX_DEVICES_PER_USER).limitFor(isUser, isInGroup);
            var limits = Rules.definitions().stream()
                    .filter(RuleDefinition::hasLimit)
                    .map(rule -> LimitView.of(rule, current, now, isUser, isInGroup))
                    .toList();
            var held = hosts.stream()
                    .flatMap(UserOnHost::devices)
                    .filter(AttachedView::counted)
                    .map(attached -> new HostDevice(attached.host(), attached.device()))
                    .distinct(); // several environments of the user may share a device
            return Optional.of(new UserView(
                    user,
                    limit.orNull(),
                    limits,
                    (int) held.count(),
                    hosts.stream()
                            .flatMap(UserOnHost::devices)
                            .limit(MAX_ENTRIES)
                            .toList(),
                    hosts.stream()
                            .flatMap(UserOnHost::processes)
                            .limit(MAX_ENTRIES)
                            .toList(),
                    violations));
        }
    }

    /**
     * The limit of a rule for the user, as the policy file has it, and why: such as {@code group phd}.
     *
     * @param state known, none or unknown
     * @param source where a known limit is from
     * @param until the end of the exception
     */
    public record LimitView(
            String rule,
            String state,
            @Nullable String limit,
            String because,
            @Nullable String source,
            @Nullable Instant until) {
        private static LimitView of(
                RuleDefinition rule,
                PolicyInForce current,
                Instant now,
                Function<String, Match> user,
                Function<String, Match> group) {
            var limits = current.policy().limitsOf(rule);
            return switch (limits.limitFor(user, group)) {
                case UserLimit.Known(var most) -> {
                    var its = limits.keyFor(user, group);
                    var key = new PolicyKey(its.kind(), rule.name(), its.name());
                    var source =
                            Optional.ofNullable(current.values().all().get(key)).map(Sourced::origin);
                    var until = current.document().end(key, now);
                    yield new LimitView(
                            rule.name(),
                            "known",
                            rule.limitText(most),
                            key.reason(),
                            source.orElse(null),
                            until.orElse(null));
                }
                case UserLimit.None() -> new LimitView(rule.name(), "none", null, "no limit", null, null);
                case UserLimit.Unknown() ->
                    new LimitView(rule.name(), "unknown", null, "the account or its groups are not found", null, null);
            };
        }
    }

    /** A device that is attached to an environment of the user. */
    public record AttachedView(
            String host,
            int device,
            String environment,
            @Nullable LocalDateTime since,
            boolean counted) {}

    /** A process on the devices; its environment is null if it belongs to none or if that is unknown. */
    public record UserProcessView(
            String host, @Nullable String environment, List<UsageView> devices, ProcessView process) {}

    /** The use of a device, with the memory in bytes; null if the driver does not report it. */
    public record UsageView(int device, @Nullable Long usedBytes) {
        private static UsageView of(DeviceUsage use) {
            return new UsageView(
                    use.device(),
                    Optional.ofNullable(use.memory()).map(Memory::bytes).orElse(null));
        }
    }

    /** What the last cycle observed of a user on one host. */
    private static final class UserOnHost {
        private final String user;
        private final Snapshot snapshot;
        private final HostUsers users;
        private final Map<String, Environment> environments;

        UserOnHost(String user, Snapshot snapshot) {
            this.user = user;
            this.snapshot = snapshot;
            users = new HostUsers(snapshot);
            environments = snapshot.environments().stream()
                    .filter(each -> user.equals(users.of(each)) || each.user().equals(Optional.of(user)))
                    .collect(Collectors.toMap(Environment::eid, Function.identity(), (first, _) -> first));
        }

        /** Whether the host knows the user: an account, an environment or a process. */
        boolean isKnown() {
            return snapshot.details().accounts().uidOf(user).isPresent()
                    || !environments.isEmpty()
                    || processes().findAny().isPresent();
        }

        Stream<Match> match(String limited) {
            return uids().map(uid ->
                    Limits.match(limited, user, uid, snapshot.details().accounts()));
        }

        Stream<Match> isIn(String group) {
            return uids().map(uid -> snapshot.details().accounts().isIn(group, user, uid));
        }

        /** Returns the uids of the account, of the environments and of the processes. */
        private Stream<Long> uids() {
            return Stream.of(
                            snapshot.details().accounts().uidOf(user).stream(),
                            environments.values().stream().flatMap(each -> Stream.ofNullable(each.uid())),
                            snapshot.processes().stream()
                                    .filter(process -> user.equals(users.of(process)))
                                    .flatMap(process -> Stream.ofNullable(process.owner())))
                    .flatMap(Function.identity())
                    .distinct();
        }

        Stream<AttachedView> devices() {
            return snapshot.devices().stream()
                    .flatMap(device -> device.attachments().stream()
                            .flatMap(attachment -> Stream.ofNullable(environments.get(attachment.eid()))
                                    .map(environment -> attached(device, attachment, environment))));
        }

        private AttachedView attached(Device device, Attachment attachment, Environment environment) {
            var at = attachment.attachedAt();
            return new AttachedView(
                    snapshot.host(),
                    device.index(),
                    environment.eid(),
                    at.equals(LocalDateTime.MIN) ? null : at,
                    Rules.MAX_DEVICES_PER_USER.isCheckable(snapshot)
                            && snapshot.listedDevices().contains(device.index())
                            && !environment.ownership().isDisputed());
        }

        Stream<UserProcessView> processes() {
            return snapshot.processes().stream()
                    .filter(process -> user.equals(users.of(process))
                            || (process.membership() instanceof Membership.InEnvironment(var eid)
                                    && environments.containsKey(eid)))
                    .map(this::view);
        }

        private UserProcessView view(GpuProcess process) {
            return new UserProcessView(
                    snapshot.host(),
                    process.membership() instanceof Membership.InEnvironment(var eid) ? eid : null,
                    process.usage().stream().map(UsageView::of).toList(),
                    ProcessView.of(process));
        }
    }
}
