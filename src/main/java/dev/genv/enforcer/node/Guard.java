package dev.genv.enforcer.node;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.observation.ProtectedExecutable;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Finds out which users and which programs are spared on this machine, each time anew. */
final class Guard {
    private static final Pattern UID = Pattern.compile("[0-9]{1,10}");
    private static final String EXEMPT = "GENV_ENFORCER_EXEMPT_USERS";
    private static final String PROTECTED = "GENV_ENFORCER_PROTECTED_EXECUTABLES";
    private static final long NOBODY_ELSE = 0;

    private final ProcFs proc;
    private final Passwd passwd;
    private final List<ProtectedExecutable> programs;
    private final List<String> exemptUsers;

    Guard(ProcFs proc, List<ProtectedExecutable> programs, List<String> exemptUsers) {
        this.proc = proc;
        this.passwd = new Passwd(proc);
        this.programs = Stream.concat(programs.stream(), ProtectedExecutable.BUILT_IN.stream())
                .distinct()
                .toList();
        this.exemptUsers = List.copyOf(exemptUsers);
    }

    /** Who is spared at this moment. */
    Spared look(List<Problem> problems) {
        var accounts = passwd.read(problems);
        var uids = new HashSet<Long>();
        for (var user : exemptUsers) {
            uid(user, EXEMPT, accounts, problems).ifPresent(uids::add);
        }
        var host = proc.hostFiles();
        var files = new ArrayList<ProtectedFile>();
        for (var program : programs) {
            find(host, program, accounts, problems).ifPresent(files::add);
        }
        return new Spared(proc, accounts, uids, files);
    }

    private static Optional<ProtectedFile> find(
            FileTree host, ProtectedExecutable program, Accounts accounts, List<Problem> problems) {
        var everybody = program.user().equals(ProtectedExecutable.EVERYBODY);
        var uid = everybody
                ? NOBODY_ELSE
                : uid(program.user(), PROTECTED, accounts, problems).orElse(NOBODY_ELSE);
        try {
            return Optional.of(ProtectedFile.find(host, program.path(), everybody, uid));
        } catch (NoSuchFileException e) {
            if (!ProtectedExecutable.BUILT_IN.contains(program)) {
                problems.add(unusable(program, "there is no such file on this host"));
            }
            return Optional.empty();
        } catch (UntrustedException e) {
            problems.add(unusable(program, String.valueOf(e.getMessage())));
            return Optional.empty();
        } catch (IOException e) {
            // Its processes may be there all the same, and none of them must end for that.
            problems.add(new Problem(
                    "protected_unusable",
                    "%s cannot be examined, so that no process is ended that could run it: %s; correct it, or take it out of %s"
                            .formatted(program.path(), e, PROTECTED)));
            return Optional.of(new ProtectedFile(program.path(), program.path(), 0, null, everybody, uid));
        }
    }

    private static Problem unusable(ProtectedExecutable program, String why) {
        return new Problem(
                "protected_unusable",
                "%s protects no process (it must be a file of root's that nobody else can write): %s; correct it, or take it out of %s"
                        .formatted(program.path(), why, PROTECTED));
    }

    private static Optional<Long> uid(String user, String setting, Accounts accounts, List<Problem> problems) {
        if (UID.matcher(user).matches()) {
            return Optional.of(Long.valueOf(user));
        }
        var uid = accounts.uidOf(user);
        if (uid.isEmpty()) {
            problems.add(new Problem(
                    "user_unknown_here",
                    "user %s of %s is not in this host's /etc/passwd: give the uid instead".formatted(user, setting)));
        }
        return uid;
    }
}
