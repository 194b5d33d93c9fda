package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/** Resolves the users that settings name, by name or uid, with the accounts of one machine. */
public record ConfiguredUsers(Accounts accounts, List<Problem> problems) {
    private static final Pattern UID = Pattern.compile("[0-9]{1,10}");
    private static final String EXEMPT = "GENV_ENFORCER_EXEMPT_USERS";

    /** Returns the exempt uids. */
    public Set<Long> exempt(Collection<String> users) {
        var uids = new HashSet<Long>();
        users.forEach(user -> uid(user, EXEMPT).ifPresent(uids::add));
        return uids;
    }

    /** Returns the uid for which a program is protected besides root; root's uid if there is none. */
    public long owner(ProtectedExecutable program) {
        return program.isForAllUsers()
                ? ProtectedExecutable.ROOT_UID
                : uid(program.user(), ProtectedExecutable.SETTING).orElse(ProtectedExecutable.ROOT_UID);
    }

    private Optional<Long> uid(String user, String setting) {
        if (UID.matcher(user).matches()) {
            return Optional.of(Long.valueOf(user));
        }
        var uid = accounts.uidOf(user);
        if (uid.isEmpty()) {
            problems.add(new Problem(
                    ProblemCode.SETTING_USER_UNKNOWN,
                    "user %s of %s is not in this host's /etc/passwd: give the uid instead".formatted(user, setting)));
        }
        return uid;
    }
}
