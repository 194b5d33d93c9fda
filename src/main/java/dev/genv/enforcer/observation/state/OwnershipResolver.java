package dev.genv.enforcer.observation.state;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Environment.Ownership;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Compares the recorded owners of a machine's environments with other sources. Every user can write any name; the uids of pids
 * come from the kernel, and the names of the accounts from files of root.
 *
 * @param uidsOfPids the real uids of the live pids, as far as they are known
 */
public record OwnershipResolver(Map<Integer, Long> uidsOfPids, Accounts accounts, Set<Long> exempt) {
    private static final int TOLD = 8;

    public OwnershipResolver {
        uidsOfPids = Map.copyOf(uidsOfPids);
        exempt = Set.copyOf(exempt);
    }

    public List<Environment> resolve(Collection<Environment> environments) {
        var claims = new HashMap<String, SortedSet<Long>>();
        for (var environment : environments) {
            environment
                    .user()
                    .filter(user -> accounts.uidOf(user).isEmpty())
                    .ifPresent(user ->
                            claims.computeIfAbsent(user, _ -> new TreeSet<>()).addAll(claimsOf(environment)));
        }
        return environments.stream()
                .map(environment -> environment.with(new Ownership(
                                dispute(environment, claims).orElse(null), isExempt(environment), ofPids(environment))
                        .withAccount(account(environment).orElse(null))))
                .toList();
    }

    /** A user can remove the recorded name, so the account of the uid takes its place: else the user had a second quota. */
    private Optional<String> account(Environment environment) {
        var name = environment.username();
        var uid = environment.uid();
        if (uid == null) {
            return Optional.empty();
        }
        if (name == null || name.isEmpty()) {
            return uid == 0 ? Optional.empty() : accounts.namesOf(uid).stream().min(Comparator.naturalOrder());
        }
        return Optional.of(name).filter(user -> accounts.uidOf(user).equals(Optional.of(uid)));
    }

    private Optional<String> dispute(Environment environment, Map<String, SortedSet<Long>> claims) {
        var own = claimsOf(environment);
        if (environment.ownership().isDisputed()) {
            return Optional.ofNullable(environment.ownership().dispute()); // by the recorded user name
        }
        if (own.size() > 1) {
            return Optional.of("it is recorded for uid %s, but its pids are of uids %s"
                    .formatted(environment.uid(), some(ofPids(environment))));
        }
        var name = environment.username();
        if (name != null && !name.isEmpty()) {
            var against = contradiction(name, own);
            if (against != null) {
                return Optional.of(against);
            }
        }
        // The true owner of the name is unknown, but two uids use it.
        return environment
                .user()
                .map(claims::get)
                .filter(all -> all.size() > 1)
                .map(all -> "environments of uids %s have the same user name".formatted(some(all)));
    }

    /** Users can record any number of uids, and each environment would repeat all of them. */
    private static String some(SortedSet<Long> uids) {
        var text = uids.stream().limit(TOLD).map(String::valueOf).collect(Collectors.joining(", "));
        return uids.size() > TOLD ? text + " and %d more".formatted(uids.size() - TOLD) : text;
    }

    private @Nullable String contradiction(String name, SortedSet<Long> claims) {
        var account = accounts.uidOf(name);
        if (account.isPresent()) {
            return claims.stream().allMatch(account.get()::equals)
                    ? null
                    : "user %s has uid %d, not %s".formatted(name, account.get(), claims.getFirst());
        }
        for (var uid : claims) {
            var names = accounts.namesOf(uid);
            if (!names.isEmpty()) {
                return "uid %d is user %s, not %s".formatted(uid, String.join(" or ", new TreeSet<>(names)), name);
            }
        }
        return null;
    }

    private boolean isExempt(Environment environment) {
        var live = environment.pids().stream().filter(uidsOfPids::containsKey).toList();
        return !live.isEmpty() && live.stream().map(uidsOfPids::get).allMatch(exempt::contains);
    }

    /** Returns the uids to which an environment may belong, by the record and by its pids. */
    private SortedSet<Long> claimsOf(Environment environment) {
        var claims = ofPids(environment);
        var recorded = environment.uid();
        if (recorded != null) {
            claims.add(recorded);
        }
        return claims;
    }

    private SortedSet<Long> ofPids(Environment environment) {
        var uids = new TreeSet<Long>();
        for (var pid : environment.pids()) {
            var uid = uidsOfPids.get(pid);
            if (uid != null) {
                uids.add(uid);
            }
        }
        return uids;
    }
}
