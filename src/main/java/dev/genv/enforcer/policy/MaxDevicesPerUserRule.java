package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Accounts.Match;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Holdings.Holding;
import dev.genv.enforcer.policy.Holdings.RecordedUid;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.policy.Rule.RuleBasis;
import dev.genv.enforcer.policy.Rule.RuleCheck;
import dev.genv.enforcer.policy.Rule.RuleSetting;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleConfig.Limits.UserLimit;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Violated by a user whose environments hold more devices than allowed on all machines together. */
final class MaxDevicesPerUserRule {
    static final RuleDefinition DEFINITION = new RuleDefinition(
            "max-devices-per-user",
            "More GPUs than a user may hold",
            """
            Stop the job on a GPU N that you do not need, then detach this GPU with `genv detach --index N` in the shell of its \
            environment. Without `--index`, genv detaches all GPUs of the environment.\
            """,
            RuleMode.ENFORCE,
            RuleBasis.ATTACHMENTS,
            // Without a complete process list, idle devices are unknown, and a running job might lose its device first.
            Set.of(
                    SnapshotPart.PROCESSES,
                    SnapshotPart.EVERY_PROCESS,
                    SnapshotPart.ENVIRONMENTS,
                    SnapshotPart.ATTACHMENTS),
            List.of(
                    new RuleSetting("max-devices-per-user", RuleSetting.Kind.LIMIT, """
                        Number of GPUs that all environments of one user may have attached, on all machines together. Unset means no \
                        limit.\
                        """),
                    new RuleSetting("max-devices-for-user", RuleSetting.Kind.LIMITS_OF_USERS, """
                        Limits of single users, instead of the general one and of those of groups. They also apply without a general \
                        limit. Separate them by commas or blanks.\
                        """),
                    new RuleSetting("max-devices-for-group", RuleSetting.Kind.LIMITS_OF_GROUPS, """
                        Limits of each user of a group, instead of the general one. The largest of a user's groups counts. A number is a \
                        gid. Separate them by commas or blanks.\
                        """),
                    new RuleSetting("max-devices-per-user-mode", RuleSetting.Kind.MODE, """
                        Users whose environments have more GPUs attached than allowed. `enforce` detaches the surplus and terminates the \
                        processes of those environments on it. Without a limit this has no effect.\
                        """)),
            MaxDevicesPerUserRule::check);

    private MaxDevicesPerUserRule() {}

    private static void check(List<Snapshot> checkable, RuleCheck check) {
        var limits = check.limits();
        if (limits.equals(Limits.NONE)) {
            return;
        }
        var fleet = check.fleet();
        var held = new TreeMap<String, List<Holding>>();
        var uids = RecordedUid.byUser(fleet);
        for (var host : checkable) {
            var holdings = new Holdings(host, check, uids);
            holdings.byUser()
                    .forEach((user, more) ->
                            held.computeIfAbsent(user, _ -> new ArrayList<>()).addAll(more));
            holdings.uncounted()
                    .forEach(environment -> check.problem(
                            host,
                            ProblemCode.ENVIRONMENT_USER_UNKNOWN,
                            "Environment %s has neither a user name nor a uid other than 0: it counts in no quota"
                                    .formatted(SafeText.escape(environment.eid()))));
        }
        var hosts = hostsByUser(fleet);
        held.forEach((user, devices) -> {
            var its = uids.getOrDefault(user, Set.of());
            var allowed = limits.limitFor(
                    limited ->
                            Match.any(its.stream().map(one -> Limits.match(limited, user, one.uid(), one.accounts()))),
                    group -> RecordedUid.isInGroup(group, user, its, fleet));
            if (allowed instanceof UserLimit.Unknown && limits.mayExceed(devices.size())) {
                check.problems().add(UserLimit.problem(devices.getFirst().host(), DEFINITION, user));
            }
            if (allowed instanceof UserLimit.Known(var limit) && devices.size() > limit) {
                var surplus = Surplus.of(devices, devices.size() - limit, fleet.appearances());
                var onHosts = MemoryRules.onHosts(fleet, hosts.getOrDefault(user, 0));
                add(user, devices, surplus, onHosts, check);
                check.problems().addAll(surplus.problems(user));
            }
        });
    }

    private static void add(String user, List<Holding> held, Surplus surplus, String onHosts, RuleCheck check) {
        var actions = surplus.chosen().stream()
                .flatMap(MaxDevicesPerUserRule::actions)
                .toList();
        var message = "User %s is using %d devices%s which is %d more than the maximum allowed"
                .formatted(
                        SafeText.escape(user),
                        held.size(),
                        onHosts,
                        surplus.chosen().size() + surplus.undecided().size());
        var where = held.stream().map(Holding::host).collect(Collectors.toUnmodifiableSet());
        var violation = new Violation(
                DEFINITION,
                where.size() == 1 ? where.iterator().next() : null,
                where,
                "user " + user,
                message,
                user,
                null,
                surplus.chosen().stream()
                        .map(Holding::device)
                        .distinct()
                        .sorted()
                        .toList(),
                surplus.chosen().stream()
                        .flatMap(holding -> holding.processes().stream())
                        .distinct()
                        .toList());
        check.add(violation, actions);
    }

    /** Returns the number of machines on which each user has environments, with or without devices. */
    private static Map<String, Integer> hostsByUser(Fleet fleet) {
        var hosts = new HashMap<String, Integer>();
        for (var snapshot : fleet.snapshots()) {
            snapshot.environments().stream()
                    .flatMap(environment -> environment.user().stream())
                    .distinct()
                    .forEach(user -> hosts.merge(user, 1, Integer::sum));
        }
        return hosts;
    }

    private static Stream<Action> actions(Holding holding) {
        return Stream.concat(
                holding.shares().stream()
                        .map(share -> new Action.Detach(
                                holding.host(), share.environment(), holding.device(), share.attachment())),
                holding.processes().stream().map(process -> new Action.Terminate(holding.host(), process)));
    }

    /**
     * The devices that a user holds above the limit.
     *
     * @param chosen the devices to detach
     * @param undecided the devices that only the recorded times would choose. Every user can write these times, so another user may have
     *     forged an attachment with an old time, and then the real one and its processes would be lost
     */
    private record Surplus(List<Holding> chosen, List<Holding> undecided) {
        static Surplus of(List<Holding> held, int count, Appearances appearances) {
            var sorted = held.stream().sorted(Holding.LEAST_HARM).toList();
            var first = sorted.subList(0, count);
            if (appearances.trustsRecordedTimes()
                    || sorted.subList(count, sorted.size()).stream().noneMatch(Holding::isUnproven)) {
                return new Surplus(first, List.of());
            }
            return new Surplus(
                    first.stream().filter(holding -> !holding.isUnproven()).toList(),
                    first.stream().filter(Holding::isUnproven).toList());
        }

        List<HostProblem> problems(String user) {
            return undecided.stream()
                    .map(Holding::host)
                    .distinct()
                    .map(host -> new HostProblem(
                            host,
                            ProblemCode.QUOTA_UNDECIDED,
                            "User %s holds %d device(s) too many, and only the times in devices.json show which ones came last: the user must detach them"
                                    .formatted(SafeText.escape(user), undecided.size())))
                    .toList();
        }
    }
}
