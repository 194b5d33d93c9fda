package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.HostFacts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Environment.Ownership;
import dev.genv.enforcer.observation.ConfiguredUsers.ExemptUsers;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Compares the recorded owners of environments with other sources. Every user can write any name; the uids of pids come from the kernel,
 * and the names of the accounts from files of root.
 *
 * @param running by pid
 */
record OwnershipResolver(Map<Integer, LiveProcess> running, Accounts accounts, ExemptUsers exempt) {
    private static final int TOLD = 8;

    /** Returns the environments with their owners, and with their live pids only, because there may be many others. */
    List<Environment> resolve(Collection<Environment> environments) {
        var claims = new HashMap<String, SortedSet<Long>>();
        for (var environment : environments) {
            environment
                    .user()
                    .filter(user -> accounts.uidOf(user).isEmpty())
                    .ifPresent(user ->
                            claims.computeIfAbsent(user, _ -> new TreeSet<>()).addAll(claimsOf(environment)));
        }
        return environments.stream()
                .map(environment -> resolve(environment, claims))
                .toList();
    }

    private Environment resolve(Environment recorded, Map<String, SortedSet<Long>> claims) {
        var pids =
                recorded.pids().stream().distinct().filter(running::containsKey).toList();
        return recorded.with(
                pids,
                new Ownership(
                        dispute(recorded, claims).orElse(null),
                        exempt.immunity(pids.stream()
                                .flatMap(pid -> Stream.ofNullable(running.get(pid)))
                                .toList()),
                        ofPids(recorded),
                        account(recorded).orElse(null),
                        null,
                        areUidsKnown(pids, recorded)));
    }

    /** Whether the real uids of these pids are known, and the shell that it is named after has no other than the recorded one. */
    private boolean areUidsKnown(List<Integer> pids, Environment recorded) {
        var isOfOther = recorded.shell()
                .map(this::uidOf)
                .filter(uid -> !uid.equals(recorded.uid()))
                .isPresent();
        return !isOfOther && pids.stream().allMatch(pid -> uidOf(pid) != null);
    }

    private @Nullable Long uidOf(int pid) {
        var process = running.get(pid);
        return process == null ? null : process.uid();
    }

    /** A user can remove the recorded name, so the account of the uid takes its place: else the user had a second quota. */
    private Optional<String> account(Environment environment) {
        var name = environment.username();
        var uid = environment.uid();
        if (uid == null) {
            return Optional.empty();
        }
        if (name == null || name.isEmpty()) {
            return uid == 0 ? Optional.empty() : accounts.firstNameOf(uid);
        }
        return Optional.of(name)
                .filter(user -> accounts.uidOf(user).equals(Optional.of(uid)))
                .map(accounts::nameOf);
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
        var against = name == null || name.isEmpty() ? null : contradiction(name, own);
        if (against != null) {
            return Optional.of(against);
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

    /** By the record and by its pids. */
    private SortedSet<Long> claimsOf(Environment environment) {
        var claims = ofPids(environment);
        var recorded = environment.uid();
        if (recorded != null) {
            claims.add(recorded);
        }
        return claims;
    }

    private SortedSet<Long> ofPids(Environment environment) {
        return environment.pids().stream()
                .flatMap(pid -> Stream.ofNullable(uidOf(pid)))
                .collect(Collectors.toCollection(TreeSet::new));
    }
}
