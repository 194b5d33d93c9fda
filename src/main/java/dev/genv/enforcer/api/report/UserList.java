package dev.genv.enforcer.api.report;

import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Accounts.Match;
import dev.genv.enforcer.model.Device.HostDevice;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.User;
import dev.genv.enforcer.model.HostUsers;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.recording.DeviceHistory;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The users of a fleet, each on one line. A process is its real uid's, an environment the user's for whom it counts. */
final class UserList {
    /** Users can write any name. If there are more, those with an account come first. */
    static final int MAX_USERS = 1000;

    private final Fleet fleet;
    private final Policy policy;
    private final DeviceHistory history;
    private final Map<String, Entry> entries = new HashMap<>();

    /** A user. */
    public record UserSummary(
            String user,
            @Nullable String userBy,
            @Nullable Integer deviceLimit,
            int devicesHeld,
            int devicesUsed,
            @Nullable Long memoryLimitBytes,
            long usedBytes,
            @Nullable Instant idleSince,
            int violations) {}

    private static final class Entry {
        private User.@Nullable Source by;
        /** By which the limit of memory names a user without an account. */
        private @Nullable Long uid;

        private Accounts accounts = Accounts.NONE;

        private final Set<HostDevice> held = new HashSet<>();
        private final Set<HostDevice> used = new HashSet<>();
        private Memory memory = Memory.ZERO;
        private @Nullable Instant idleSince;
        private int violations;
    }

    UserList(Fleet fleet, Policy policy, ViolationRegistry registry, DeviceHistory history) {
        this.fleet = fleet;
        this.history = history;
        this.policy = policy;
        fleet.snapshots().forEach(this::add);
        for (var active : registry.find(ViolationRecord::active, Integer.MAX_VALUE)) {
            var user = active.violation().countedUser();
            if (user != null) {
                entry(user).violations++;
            }
        }
    }

    List<UserSummary> view() {
        return entries.entrySet().stream()
                .sorted(Comparator.comparing(each -> each.getValue().by != User.Source.ACCOUNT))
                .limit(MAX_USERS)
                .map(each -> summary(each.getKey(), each.getValue()))
                .sorted(Comparator.comparing(UserSummary::user))
                .toList();
    }

    private UserSummary summary(String user, Entry entry) {
        Function<String, Match> group =
                name -> fleet.isInGroup(name, user, Stream.of(entry.accounts.isIn(name, user, entry.uid)));
        var devices = policy.limitsOf(Rules.MAX_DEVICES_PER_USER)
                .limitFor(limited -> Limits.match(limited, user, entry.uid, entry.accounts), group)
                .orNull();
        var named = entry.by == User.Source.ACCOUNT || entry.uid == null ? user : entry.uid.toString();
        var memory = policy.limitsOf(Rules.MAX_MEMORY_PER_USER)
                .limitFor(limited -> Limits.match(limited, named, entry.uid, entry.accounts), group)
                .orNull();
        return new UserSummary(
                user,
                entry.by == null ? null : entry.by.label(),
                devices,
                entry.held.size(),
                entry.used.size(),
                memory == null ? null : Memory.ofMebibytes(memory).bytes(),
                entry.memory.bytes(),
                entry.idleSince,
                entry.violations);
    }

    private Entry entry(String user) {
        return entries.computeIfAbsent(user, _ -> new Entry());
    }

    private void add(Snapshot snapshot) {
        var users = new HostUsers(snapshot);
        var environments = snapshot.environmentsById();
        for (var device : snapshot.devices()) {
            var its = new HostDevice(snapshot.host(), device.index());
            var isCounted = Rules.MAX_DEVICES_PER_USER.isCheckable(snapshot)
                    && snapshot.listedDevices().contains(device.index());
            var idleSince = history.of(snapshot.host(), device.index()).idleSince();
            for (var attachment : device.attachments()) {
                var environment = environments.get(attachment.eid());
                var user = environment == null ? HostUsers.UNKNOWN : users.of(environment);
                if (isCounted && environment != null && !user.equals(HostUsers.UNKNOWN)) {
                    var entry = known(snapshot, users, user);
                    entry.held.add(its);
                    entry.uid = entry.uid == null ? environment.uid() : entry.uid;
                    if (idleSince != null && (entry.idleSince == null || idleSince.isBefore(entry.idleSince))) {
                        entry.idleSince = idleSince;
                    }
                }
            }
        }
        snapshot.processes().forEach(process -> add(snapshot, users, process));
    }

    private void add(Snapshot snapshot, HostUsers users, GpuProcess process) {
        var user = users.of(process);
        if (user.equals(HostUsers.UNKNOWN) || process.isProtected()) {
            return;
        }
        var entry = known(snapshot, users, user);
        entry.uid = process.owner();
        for (var use : process.usage()) {
            entry.used.add(new HostDevice(snapshot.host(), use.device()));
            entry.memory = use.memory() == null ? entry.memory : entry.memory.plus(use.memory());
        }
    }

    /** The accounts of one host suffice. */
    private Entry known(Snapshot snapshot, HostUsers users, String user) {
        var entry = entry(user);
        entry.accounts = snapshot.details().accounts();
        var by = users.sourceOf(user);
        if (entry.by != User.Source.ACCOUNT && by != null) {
            entry.by = by;
        }
        return entry;
    }
}
