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

/** The users that settings name, by a name or a uid, as one machine knows them. */
public record NamedUsers(Accounts accounts, List<Problem> problems) {
    private static final Pattern UID = Pattern.compile("[0-9]{1,10}");
    private static final String EXEMPT = "GENV_ENFORCER_EXEMPT_USERS";

    /** The uids of which nothing is ended. */
    public Set<Long> exempt(Collection<String> users) {
        var uids = new HashSet<Long>();
        users.forEach(user -> uid(user, EXEMPT).ifPresent(uids::add));
        return uids;
    }

    /** The uid besides root's of which a program is protected; root's own where there is none. */
    public long owner(ProtectedExecutable program) {
        return program.isEverybodys()
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
