package dev.genv.enforcer.node;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.observation.NamedUsers;
import dev.genv.enforcer.observation.ProtectedExecutable;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Finds out which users and which programs are spared on this machine, each time anew. */
final class Guard {
    private final ProcFs proc;
    private final Passwd passwd;
    private final List<ProtectedExecutable> programs;
    private final List<String> exemptUsers;

    Guard(ProcFs proc, List<ProtectedExecutable> programs, List<String> exemptUsers) {
        this.proc = proc;
        this.passwd = new Passwd(proc);
        this.programs = ProtectedExecutable.with(programs);
        this.exemptUsers = List.copyOf(exemptUsers);
    }

    /** Who is spared at this moment. */
    Spared look(List<Problem> problems) {
        var accounts = passwd.read(problems);
        var users = new NamedUsers(accounts, problems);
        var uids = users.exempt(exemptUsers);
        var host = proc.machine().hostFiles();
        var files = new ArrayList<ProtectedFile>();
        for (var program : programs) {
            find(host, program, users.owner(program), problems).ifPresent(files::add);
        }
        return new Spared(proc, accounts, uids, files);
    }

    /** Which uids these accounts have besides their own. */
    SubordinateUids subordinateUids(Accounts accounts, List<Problem> problems) {
        return passwd.subordinates(accounts, problems);
    }

    private static Optional<ProtectedFile> find(
            FileTree host, ProtectedExecutable program, long uid, List<Problem> problems) {
        var everybody = program.isEverybodys();
        try {
            return Optional.of(ProtectedFile.find(host, program.path(), everybody, uid));
        } catch (NoSuchFileException e) {
            program.absent().ifPresent(problems::add);
            return Optional.empty();
        } catch (UntrustedException e) {
            problems.add(program.unusable(String.valueOf(e.getMessage())));
            return Optional.empty();
        } catch (IOException e) {
            // Its processes may be there all the same, and none of them must end for that.
            problems.add(program.unexamined(e.toString()));
            return Optional.of(new ProtectedFile(program.path(), program.path(), 0, null, everybody, uid));
        }
    }
}
