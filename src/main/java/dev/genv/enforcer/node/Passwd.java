package dev.genv.enforcer.node;

import dev.genv.enforcer.format.PasswdFile;
import dev.genv.enforcer.format.SubuidFile;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SubordinateUids;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** The accounts of the machine, from passwd(5), and their subordinate uids, from subuid(5). */
final class Passwd {
    private static final Path PASSWD = Path.of("/etc/passwd");
    private static final Path SUBUID = Path.of("/etc/subuid");

    private final EtcFile<Accounts> accounts;
    private final EtcFile<SubuidFile> subordinates;

    Passwd(ProcFs proc) {
        accounts = new EtcFile<>(proc, PASSWD, PasswdFile::parse, Accounts.NONE);
        subordinates = new EtcFile<>(proc, SUBUID, SubuidFile::parse, SubuidFile.EMPTY);
    }

    /** The accounts as they are now; those of the last time, and a problem, where they cannot be read. */
    Accounts read(List<Problem> problems) {
        try {
            return accounts.read();
        } catch (IOException e) {
            problems.add(new Problem(
                    ProblemCode.PASSWD_UNREADABLE,
                    "which users this host has cannot be read from %s: %s".formatted(PASSWD, e)));
            return accounts.latest();
        }
    }

    /** The subordinate uids of these accounts, likewise. A machine without the file has none. */
    SubordinateUids subordinates(Accounts of, List<Problem> problems) {
        try {
            return subordinates.read().of(of);
        } catch (NoSuchFileException e) {
            return SubordinateUids.NONE;
        } catch (IOException e) {
            problems.add(new Problem(
                    ProblemCode.PASSWD_UNREADABLE,
                    "which subordinate uids the users have cannot be read from %s: %s".formatted(SUBUID, e)));
            return subordinates.latest().of(of);
        }
    }
}
