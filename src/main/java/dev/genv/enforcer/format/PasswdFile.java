package dev.genv.enforcer.format;

import dev.genv.enforcer.model.Accounts;
import java.util.HashMap;
import java.util.regex.Pattern;

/** What passwd(5) says. */
public final class PasswdFile {
    /** A name, a password, a uid; what begins with a sign asks for the accounts of a directory service. */
    private static final Pattern ACCOUNT = Pattern.compile("([^:+-][^:]{0,255}):[^:]*:([0-9]{1,10}):.*");

    private static final long HIGHEST_UID = 0xFFFF_FFFEL;

    private PasswdFile() {}

    /** Lines that are no accounts are passed over, and the first one of a name counts: both as getpwnam(3) has it. */
    public static Accounts parse(String text) {
        var uids = new HashMap<String, Long>();
        text.lines().map(ACCOUNT::matcher).filter(line -> line.matches()).forEach(line -> {
            var uid = Long.parseLong(line.group(2));
            if (uid <= HIGHEST_UID) {
                uids.putIfAbsent(line.group(1), uid);
            }
        });
        return new Accounts(uids);
    }
}
