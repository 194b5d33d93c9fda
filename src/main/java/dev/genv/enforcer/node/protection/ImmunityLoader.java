package dev.genv.enforcer.node.protection;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.node.files.FileTree;
import dev.genv.enforcer.node.files.UntrustedException;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.observation.ConfiguredUsers;
import dev.genv.enforcer.observation.ProtectedExecutable;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Loads the exempt users and protected programs of this machine in every cycle. */
public final class ImmunityLoader {
    private final ProcFs proc;
    private final AccountFiles passwd;
    private final List<ProtectedExecutable> programs;
    private final List<String> exemptUsers;

    public ImmunityLoader(ProcFs proc, List<ProtectedExecutable> programs, List<String> exemptUsers) {
        this.proc = proc;
        this.passwd = new AccountFiles(proc);
        this.programs = ProtectedExecutable.with(programs);
        this.exemptUsers = List.copyOf(exemptUsers);
    }

    /** Returns the present immunity. */
    public ImmunityCheck load(List<Problem> problems) {
        var accounts = passwd.read(problems);
        var users = new ConfiguredUsers(accounts);
        var uids = users.exempt(exemptUsers);
        problems.addAll(uids.problems());
        var host = proc.machine().hostFiles();
        var files = new ArrayList<ProtectedFile>();
        for (var program : programs) {
            find(host, program, users.owner(program).value(), problems).ifPresent(files::add);
        }
        return new ImmunityCheck(proc, accounts, uids.value(), files);
    }

    /** Returns the subordinate uids of these accounts. */
    public SubordinateUids subordinateUids(Accounts accounts, List<Problem> problems) {
        return passwd.subordinates(accounts, problems);
    }

    private static Optional<ProtectedFile> find(
            FileTree host, ProtectedExecutable program, long uid, List<Problem> problems) {
        var allUsers = program.isForAllUsers();
        try {
            return Optional.of(ProtectedFile.find(host, program.path(), allUsers, uid));
        } catch (NoSuchFileException e) {
            program.absent().ifPresent(problems::add);
            return Optional.empty();
        } catch (UntrustedException e) {
            problems.add(program.unusable(String.valueOf(e.getMessage())));
            return Optional.empty();
        } catch (IOException e) {
            // Its processes may still run, and they must stay immune.
            problems.add(program.unexamined(e.toString()));
            return Optional.of(new ProtectedFile(program.path(), program.path(), 0, null, allUsers, uid));
        }
    }
}
