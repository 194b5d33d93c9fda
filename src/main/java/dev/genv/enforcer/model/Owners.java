package dev.genv.enforcer.model;

import java.util.Collection;
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
 * Holds what the environments of one machine say of their owners against what is known besides. Everybody can write
 * anybody's name; the uid of a pid is the kernel's, and the names of the machine's accounts are root's.
 *
 * @param uidsOfPids the real uids of the pids that live, as far as they are known
 * @param exempt the uids of which nothing is ended
 */
public record Owners(Map<Integer, Long> uidsOfPids, Accounts accounts, Set<Long> exempt) {
    private static final int TOLD = 8;

    public Owners {
        uidsOfPids = Map.copyOf(uidsOfPids);
        exempt = Set.copyOf(exempt);
    }

    /** The same environments, each with what came of it. */
    public List<Environment> judge(Collection<Environment> environments) {
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
                        dispute(environment, claims).orElse(null), isExempt(environment), ofPids(environment))))
                .toList();
    }

    private Optional<String> dispute(Environment environment, Map<String, SortedSet<Long>> claims) {
        var own = claimsOf(environment);
        if (environment.ownership().isDisputed()) {
            return Optional.ofNullable(environment.ownership().dispute()); // by what stands in the file already
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
        // Whose name it is, nobody here can tell; that two use it, everybody can see.
        return environment
                .user()
                .map(claims::get)
                .filter(all -> all.size() > 1)
                .map(all -> "environments of uids %s go by the same user name".formatted(some(all)));
    }

    /** Everybody can claim any number of uids, and each of the environments would repeat them all. */
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

    /** Whoever it may belong to, by what was written and by its pids. */
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
