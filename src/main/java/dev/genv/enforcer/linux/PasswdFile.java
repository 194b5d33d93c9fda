package dev.genv.enforcer.linux;

import dev.genv.enforcer.model.Accounts;
import java.util.HashMap;
import java.util.regex.Pattern;

/** Parses passwd(5). */
public final class PasswdFile {
    /** A name, a password, a uid. A name that begins with a sign includes accounts of a directory service. */
    private static final Pattern ACCOUNT = Pattern.compile("([^:+-][^:]{0,255}):[^:]*:([0-9]{1,10}):.*");

    private static final long HIGHEST_UID = 0xFFFF_FFFEL;

    private PasswdFile() {}

    /** Skips lines that are no accounts, and uses the first line of each name, both like getpwnam(3). */
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
