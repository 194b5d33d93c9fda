package dev.genv.enforcer.model;

import dev.genv.enforcer.model.GpuProcess.User;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Whose environments and processes an observation of a host shows, so that one person has one name everywhere. A user is a text: the name of
 * the account, else the recorded name, else the uid, or {@link #UNKNOWN}. Only what is reported depends on it: a quota counts an environment
 * for {@link Environment#user}.
 */
public final class HostUsers {
    /** Nobody knows the user, or the owner of the environment is disputed. */
    public static final String UNKNOWN = "";

    private final Map<Long, User> byUid = new HashMap<>();
    private final Map<String, User.Source> sources = new HashMap<>();
    private final Map<String, Environment> environments;
    private final Map<Integer, Environment> listing = new HashMap<>();

    public HostUsers(Snapshot snapshot) {
        environments = snapshot.environmentsById();
        for (var process : snapshot.processes()) {
            add(process.owner(), process.user());
        }
        for (var environment : snapshot.environments()) {
            add(environment.uid(), recorded(environment));
            environment.pids().forEach(pid -> listing.putIfAbsent(pid, environment));
        }
    }

    private void add(@Nullable Long uid, @Nullable User user) {
        if (uid != null && user != null) {
            byUid.put(uid, user);
            sources.merge(user.name(), user.by(), (one, other) -> one.compareTo(other) < 0 ? one : other);
        }
    }

    private static @Nullable User recorded(Environment environment) {
        var ownership = environment.ownership();
        var account = ownership.account();
        if (account != null) {
            return new User(SafeText.bounded(account), User.Source.ACCOUNT);
        }
        var name = environment.username();
        var isRoot = Long.valueOf(0).equals(environment.uid()); // a container of anybody
        return isRoot || ownership.isDisputed() || name == null || name.isEmpty()
                ? null
                : new User(SafeText.bounded(name), User.Source.RECORDED);
    }

    /** Returns who says that a user has this name; null for a uid, and for a user who has nothing on the host. */
    public User.@Nullable Source sourceOf(String user) {
        return sources.get(user);
    }

    /** Returns the user in whose name an environment counts. */
    public String of(Environment environment) {
        if (environment.ownership().isDisputed() || environment.user().isEmpty()) {
            return UNKNOWN;
        }
        var account = environment.ownership().account();
        var name = account == null ? environment.username() : account;
        return name == null || name.isEmpty() ? ofOwner(environment.uid()) : SafeText.bounded(name);
    }

    /**
     * A process is its real uid's. If that is root's or may be anybody's, it is the user's whose environment it is in, or whose environment
     * lists it.
     */
    public String of(GpuProcess process) {
        var owner = process.owner();
        if (process.user() != null && owner != null && owner != 0) {
            return ofOwner(owner);
        }
        var environment = switch (process.membership()) {
            case Membership.InEnvironment(var eid) -> environments.get(eid);
            case Membership.Unknown _, Membership.Outside _ -> listing.get(process.pid());
        };
        if (environment != null) {
            return of(environment);
        }
        return ofOwner(process.ownerOrUid());
    }

    /** Returns the user of this uid of an account. */
    public String ofOwner(@Nullable Long owner) {
        var user = byUid.get(owner);
        return user == null ? Objects.toString(owner, UNKNOWN) : user.name();
    }
}
