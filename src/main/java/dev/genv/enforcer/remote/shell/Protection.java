package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.format.ProcStat;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.observation.ConfiguredUsers;
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
 * @param exempt the exempt uids
 * @param programs the files that are protected
 * @param ourselves the pid of the shell that tells all this
 */
record Protection(Set<Long> exempt, List<Program> programs, long ourselves) {
    private static final int FIRST_PROCESS = 1;

    /**
     * A program that is protected.
     *
     * @param file the identity of the file; null if unknown
     * @param uid the user for whom it is protected besides root
     */
    record Program(ProtectedExecutable asked, @Nullable String file, long uid) {
        /** Whether it is protected for a process of this real uid; an unknown uid may be any. */
        boolean appliesTo(@Nullable Long user) {
            return asked.isForAllUsers() || user == null || user == 0 || user == uid;
        }
    }

    /** Finds out what a look tells of it. */
    static Protection of(
            Frames frames,
            List<ProtectedExecutable> pending,
            List<String> exemptUsers,
            Accounts accounts,
            List<Problem> problems)
            throws UnreachableException {
        var users = new ConfiguredUsers(accounts);
        var exempted = users.exempt(exemptUsers);
        problems.addAll(exempted.problems());
        var exempt = exempted.value();
        var reported = frames.every("program");
        if (reported.size() != pending.size()) {
            throw Frame.unreadable("not all protected programs are in it");
        }
        var programs = new ArrayList<Program>();
        for (var i = 0; i < reported.size(); i++) {
            var program = pending.get(i);
            var frame = reported.get(i);
            var owner = users.owner(program);
            problems.addAll(owner.problems());
            long uid = owner.value();
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

    /** Returns why a process is never terminated; null if it may be. */
    @Nullable
    Immunity immunity(int pid, ProcStat stat, @Nullable Long uid, EnvironReading.Program program) {
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
                ? new Immunity(Immunity.Kind.EXEMPT, "it belongs to uid %d, which is exempt".formatted(uid))
                : null;
    }

    /** The uids of which nothing is ended, in the form in which a script takes them. */
    String exemptUids() {
        return exempt.stream().map(String::valueOf).sorted().collect(Collectors.joining(" "));
    }

    private @Nullable String whatItIs(int pid, ProcStat stat, @Nullable Long uid, EnvironReading.Program program) {
        if (pid == FIRST_PROCESS) {
            return "it is the first process of the machine";
        }
        if (pid == ourselves) {
            return "it is genv-enforcer itself";
        }
        return stat.isKernelThread() ? "it is a kernel thread" : whatItRuns(uid, program);
    }

    private @Nullable String whatItRuns(@Nullable Long uid, EnvironReading.Program program) {
        var candidates = programs.stream().filter(each -> each.appliesTo(uid)).toList();
        if (!candidates.isEmpty() && !program.known()) {
            return "it is unknown whether it runs a protected program";
        }
        for (var candidate : candidates) {
            var path = candidate.asked().path();
            if (candidate.file() == null) {
                return "it is unknown whether it runs %s".formatted(path);
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
