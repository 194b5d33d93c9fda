package dev.genv.enforcer.config.settings.converters;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Users, by name or uid. */
@SuppressWarnings("serial")
public final class Users {
    private static final Pattern USER = Pattern.compile("[^@/:*=]+");
    private static final Pattern SSH_USER = Pattern.compile("[^\\s@:/-][^\\s@:/]*");
    /** The largest 32-bit number is no uid: the kernel uses it for none. */
    private static final long HIGHEST_UID = 0xFFFF_FFFEL;

    private static final int MAX_DIGITS = 10;

    private Users() {}

    /** A list of users. */
    public static final class Names extends SettingConverter<Collection<String>> {
        public Names() {
            super("names or uids of users, such as alice,1003");
        }

        @Override
        public List<String> convert(String value) {
            var users = Lists.entries(value);
            if (!users.stream().allMatch(Users::isLoginName)) {
                throw invalid();
            }
            return users;
        }
    }

    /** A limit for each of some users. */
    public static final class Limits extends SettingConverter<Map<String, Integer>> {
        private final Numbers.Limit limit = new Numbers.Limit();

        public Limits() {
            super("users with a limit each, each once, such as john=3,paul=2");
        }

        @Override
        public Map<String, Integer> convert(String value) {
            var limits = new LinkedHashMap<String, Integer>();
            for (var entry : Lists.entries(value)) {
                var equals = entry.lastIndexOf('=');
                if (equals < 1
                        || limits.put(entry.substring(0, equals), limit.convert(entry.substring(equals + 1))) != null) {
                    throw invalid();
                }
            }
            return limits;
        }
    }

    /** The name of a login user. It does not begin with a dash, because people copy it into commands. */
    public static final class LoginName extends SettingConverter<String> {
        public LoginName() {
            super("the name of a user, such as raz");
        }

        @Override
        public String convert(String value) {
            if (!SSH_USER.matcher(value).matches()) {
                throw invalid();
            }
            return value;
        }
    }

    private static boolean isLoginName(String user) {
        if (user.matches("[0-9]+")) {
            return user.length() <= MAX_DIGITS && Long.parseLong(user) <= HIGHEST_UID;
        }
        return USER.matcher(user).matches();
    }
}
