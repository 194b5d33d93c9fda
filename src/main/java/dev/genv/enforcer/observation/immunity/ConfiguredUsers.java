package dev.genv.enforcer.observation.immunity;

import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.model.user.Accounts;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Resolves the users that settings name, by name or uid, with the accounts of one machine. */
public record ConfiguredUsers(Accounts accounts) {
    private static final Pattern UID = Pattern.compile("[0-9]{1,10}");
    private static final String EXEMPT = "GENV_ENFORCER_EXEMPT_USERS";

    /** Whether the settings give a user by name, which only the accounts of the machine can resolve. */
    public static boolean areNamed(Collection<String> exempt, Collection<ProtectedExecutable> programs) {
        return Stream.concat(
                        exempt.stream(),
                        programs.stream()
                                .filter(program -> !program.isForAllUsers())
                                .map(ProtectedExecutable::user))
                .anyMatch(user -> !UID.matcher(user).matches());
    }

    /** Returns the exempt uids. */
    public Found<Set<Long>> exempt(Collection<String> users) {
        var problems = new ArrayList<Problem>();
        var uids = new HashSet<Long>();
        for (var user : users) {
            var uid = uid(user, EXEMPT);
            uid.value().ifPresent(uids::add);
            problems.addAll(uid.problems());
        }
        return Found.of(uids, problems);
    }

    /** Returns the uid for which a program is protected besides root; root's uid if there is none. */
    public Found<Long> owner(ProtectedExecutable program) {
        if (program.isForAllUsers()) {
            return Found.of(ProtectedExecutable.ROOT_UID);
        }
        var uid = uid(program.user(), ProtectedExecutable.SETTING);
        return Found.of(uid.value().orElse(ProtectedExecutable.ROOT_UID), uid.problems());
    }

    private Found<Optional<Long>> uid(String user, String setting) {
        if (UID.matcher(user).matches()) {
            return Found.of(Optional.of(Long.valueOf(user)));
        }
        var uid = Found.of(accounts.uidOf(user));
        return uid.value().isPresent()
                ? uid
                : uid.with(new Problem(
                        ProblemCode.SETTING_USER_UNKNOWN,
                        "user %s of %s is not in this host's /etc/passwd: give the uid instead"
                                .formatted(user, setting)));
    }
}
