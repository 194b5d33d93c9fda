package dev.genv.enforcer.node.protection;

import dev.genv.enforcer.format.PasswdFile;
import dev.genv.enforcer.format.SubuidFile;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.node.proc.ProcFs;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** Reads the accounts of the machine, passwd(5), and their subordinate uids, subuid(5). */
final class AccountFiles {
    private static final Path PASSWD = Path.of("/etc/passwd");
    private static final Path SUBUID = Path.of("/etc/subuid");

    private final EtcFile<Accounts> accounts;
    private final EtcFile<SubuidFile> subordinates;

    AccountFiles(ProcFs proc) {
        accounts = new EtcFile<>(proc, PASSWD, PasswdFile::parse, Accounts.NONE);
        subordinates = new EtcFile<>(proc, SUBUID, SubuidFile::parse, SubuidFile.EMPTY);
    }

    /** Returns the present accounts; if they cannot be read, the last known ones and a problem. */
    Accounts read(List<Problem> problems) {
        try {
            return accounts.read();
        } catch (IOException e) {
            problems.add(new Problem(
                    ProblemCode.PASSWD_UNREADABLE,
                    "the accounts of this host cannot be read from %s: %s".formatted(PASSWD, e)));
            return accounts.latest();
        }
    }

    /** Returns the subordinate uids of these accounts in the same way. A machine without the file has none. */
    SubordinateUids subordinates(Accounts of, List<Problem> problems) {
        try {
            return subordinates.read().of(of);
        } catch (NoSuchFileException e) {
            return SubordinateUids.NONE;
        } catch (IOException e) {
            problems.add(new Problem(
                    ProblemCode.PASSWD_UNREADABLE,
                    "the subordinate uids of the users cannot be read from %s: %s".formatted(SUBUID, e)));
            return subordinates.latest().of(of);
        }
    }
}
