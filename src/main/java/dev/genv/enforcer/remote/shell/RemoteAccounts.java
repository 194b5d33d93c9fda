package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.format.PasswdFile;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The accounts of a host, which are told anew only when they have changed. */
final class RemoteAccounts {
    /** In bytes; the script takes no more. */
    private static final int MOST = 2 << 20;

    private String stamp = "";
    private Accounts accounts = Accounts.NONE;

    /** What tells the passwd(5) that is known from every other one. */
    String stamp() {
        return stamp;
    }

    /** The accounts as they are now; those of the last time, and a problem, where they could not be read. */
    Accounts read(Frames frames, List<Problem> problems) throws UnreachableException {
        var frame = frames.one("passwd");
        switch (frame.at(0)) {
            case "same" -> {}
            case "unreadable" -> tell(problems, "it is not a file, or not ours to read");
            case "long" -> tell(problems, "it is too long");
            default -> {
                accounts = PasswdFile.parse(new String(frame.bytes(MOST), StandardCharsets.UTF_8));
                stamp = frame.at(0);
            }
        }
        return accounts;
    }

    private static void tell(List<Problem> problems, String why) {
        problems.add(new Problem(
                ProblemCode.PASSWD_UNREADABLE, "the accounts of this host cannot be read from /etc/passwd: " + why));
    }
}
