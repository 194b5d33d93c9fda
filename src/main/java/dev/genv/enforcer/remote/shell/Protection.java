package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.format.ProcStat;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.observation.NamedUsers;
import dev.genv.enforcer.observation.ProtectedExecutable;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Who is never ended on a host, by what its kernel says.
 *
 * @param exempt the uids of which nothing is ended
 * @param programs the files that are protected
 * @param ourselves the pid of the shell that tells all this
 */
record Protection(Set<Long> exempt, List<Program> programs, long ourselves) {
    private static final int FIRST_PROCESS = 1;

    /**
     * A program that is protected.
     *
     * @param file what tells it from every other file; null where that cannot be told
     * @param uid of which user it is protected besides root
     */
    record Program(ProtectedExecutable asked, @Nullable String file, long uid) {
        /** Whether it is protected when a process of this real uid runs it; one that is not known may be any. */
        boolean appliesTo(@Nullable Long user) {
            return asked.isEverybodys() || user == null || user == 0 || user == uid;
        }
    }

    /** Finds out what a look tells of it. */
    static Protection of(
            Frames frames,
            List<ProtectedExecutable> asked,
            List<String> exemptUsers,
            Accounts accounts,
            List<Problem> problems)
            throws UnreachableException {
        var users = new NamedUsers(accounts, problems);
        var exempt = users.exempt(exemptUsers);
        var told = frames.every("program");
        if (told.size() != asked.size()) {
            throw Frame.unreadable("not all protected programs are in it");
        }
        var programs = new ArrayList<Program>();
        for (var i = 0; i < told.size(); i++) {
            var program = asked.get(i);
            var frame = told.get(i);
            var uid = users.owner(program);
            switch (frame.at(1)) {
                case "absent" -> program.absent().ifPresent(problems::add);
                case "untrusted" -> problems.add(program.unusable(frame.from(2)));
                case "unexamined" -> {
                    problems.add(program.unexamined(frame.from(2)));
                    programs.add(new Program(program, null, uid));
                }
                default -> programs.add(new Program(program, frame.at(1), uid));
            }
        }
        return new Protection(
                Set.copyOf(exempt), List.copyOf(programs), frames.one("me").number(0));
    }

    /** Why this process is never ended; null where it can be. */
    @Nullable
    Immunity immunity(int pid, ProcStat stat, @Nullable Long uid, Recollection.Program program) {
        var reason = whatItIs(pid, stat, uid, program);
        if (reason != null) {
            return new Immunity(Immunity.Kind.PROTECTED, reason);
        }
        return exemption(uid);
    }

    /** Why a process of this user is never ended, whatever it is; null where it can be. */
    @Nullable
    Immunity exemption(@Nullable Long uid) {
        return uid != null && exempt.contains(uid)
                ? new Immunity(Immunity.Kind.EXEMPT, "it belongs to uid %d, of whom nothing is ended".formatted(uid))
                : null;
    }

    /** The uids of which nothing is ended, in the form in which a script takes them. */
    String exemptUids() {
        return exempt.stream().map(String::valueOf).sorted().collect(Collectors.joining(" "));
    }

    private @Nullable String whatItIs(int pid, ProcStat stat, @Nullable Long uid, Recollection.Program program) {
        if (pid == FIRST_PROCESS) {
            return "it is the first process of the machine";
        }
        if (pid == ourselves) {
            return "it is genv-enforcer itself";
        }
        return stat.isKernelThread() ? "it is a thread of the kernel" : whatItRuns(uid, program);
    }

    private @Nullable String whatItRuns(@Nullable Long uid, Recollection.Program program) {
        var candidates = programs.stream().filter(each -> each.appliesTo(uid)).toList();
        if (!candidates.isEmpty() && !program.known()) {
            return "whether it runs a protected program cannot be told";
        }
        for (var candidate : candidates) {
            var path = candidate.asked().path();
            if (candidate.file() == null) {
                return "whether it runs %s cannot be told".formatted(path);
            }
            if (candidate.file().equals(program.file())) {
                return "it runs " + path;
            }
        }
        return null;
    }

    /** Which files a process of this user must not run to be ended, each by what tells it from all others. */
    String files(@Nullable Long uid) {
        return programs.stream()
                .filter(each -> each.appliesTo(uid))
                .flatMap(each -> Stream.ofNullable(each.file()))
                .collect(Collectors.joining(" "));
    }
}
