package dev.genv.enforcer.observation.immunity;

import dev.genv.enforcer.facts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.facts.Reading.Failure;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.user.Accounts;
import dev.genv.enforcer.observation.process.ObservedProcess;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Decides which processes are never terminated. It uses facts of the kernel only, because a process chooses its name, its arguments
 * and its variables.
 *
 * @param ownPid the pid of the service itself on the machine
 * @param exempt the exempt uids
 * @param programs the protected programs that exist
 */
public record ImmunityRules(int ownPid, Set<Long> exempt, List<ProtectedProgram> programs) {
    private static final int FIRST_PROCESS = 1;
    private static final String UNKNOWN_PROGRAM = "it is unknown whether it runs a protected program";

    public ImmunityRules {
        exempt = Set.copyOf(exempt);
        programs = List.copyOf(programs);
    }

    /**
     * A protected program.
     *
     * @param file its present file; null if there is none, or if it is unknown
     * @param files its present and its earlier files
     * @param uid the user for whom it is protected besides root
     * @param isUnknown whether its present file is unknown, so that any process may run it
     */
    public record ProtectedProgram(
            ProtectedExecutable executable,
            @Nullable ProgramFile file,
            Set<ProgramFile> files,
            long uid,
            boolean isUnknown) {
        boolean isRunBy(ProgramFile running) {
            return files.contains(running) || (file != null && file.id().equals(running.id()));
        }

        /** Whether it is protected for a process of this real uid; an unknown uid may be any. */
        boolean appliesTo(@Nullable Long user) {
            return executable.isForAllUsers() || user == null || user == ProtectedExecutable.ROOT_UID || user == uid;
        }
    }

    /**
     * Resolves the settings on a machine.
     *
     * @param exemptUsers names or uids of users whose processes are never terminated
     * @param executables the protected programs
     * @param files the files of these programs, in the same order
     * @param history their earlier files, to which these are added
     * @throws IllegalArgumentException if not all programs are in it
     */
    public static Found<ImmunityRules> of(
            List<String> exemptUsers,
            List<ProtectedExecutable> executables,
            int ownPid,
            Accounts accounts,
            List<Reading<ProgramFile>> files,
            ProgramHistory history) {
        if (files.size() != executables.size()) {
            throw new IllegalArgumentException("not all protected programs are in it");
        }
        var users = new ConfiguredUsers(accounts);
        var exempt = users.exempt(exemptUsers);
        var problems = new ArrayList<Problem>(exempt.problems());
        var programs = new ArrayList<ProtectedProgram>();
        for (var i = 0; i < files.size(); i++) {
            var executable = executables.get(i);
            var owner = users.owner(executable);
            problems.addAll(owner.problems());
            switch (files.get(i)) {
                case Reading.Value<ProgramFile>(var file) ->
                    programs.add(new ProtectedProgram(
                            executable, file, history.record(executable.path(), file), owner.value(), false));
                case Reading.Failed<ProgramFile>(var failure, var reason) -> {
                    switch (failure) {
                        case ABSENT -> executable.absent().ifPresent(problems::add);
                        case UNTRUSTED -> problems.add(executable.unusable(reason));
                        default -> problems.add(executable.unexamined(reason));
                    }
                    // Its processes may still run, for example while an upgrade replaces the file, and they must stay
                    // immune.
                    var isUnknown = failure != Failure.ABSENT && failure != Failure.UNTRUSTED;
                    var known = history.known(executable.path());
                    if (isUnknown || !known.isEmpty()) {
                        programs.add(new ProtectedProgram(executable, null, known, owner.value(), isUnknown));
                    }
                }
            }
        }
        return Found.of(new ImmunityRules(ownPid, exempt.value(), programs), problems);
    }

    /** Returns why a process is never terminated; null if it may be. */
    @Nullable
    public Immunity immunity(ObservedProcess process) {
        var reason = whatItIs(process);
        return reason == null ? exemption(process.uid()) : new Immunity(Immunity.Kind.PROTECTED, reason);
    }

    /** Returns why a process of this real uid is never terminated, whatever it runs; null if it may be. */
    @Nullable
    public Immunity exemption(@Nullable Long uid) {
        return uid != null && exempt.contains(uid)
                ? new Immunity(Immunity.Kind.EXEMPT, "it belongs to uid %d, which is exempt".formatted(uid))
                : null;
    }

    /** Returns the files that a process of this real uid must not run to be terminated. */
    public Set<ProgramFile> protectedFiles(@Nullable Long uid) {
        return programs.stream()
                .filter(program -> program.appliesTo(uid))
                .flatMap(program -> program.files().stream())
                .collect(Collectors.toUnmodifiableSet());
    }

    private @Nullable String whatItIs(ObservedProcess process) {
        if (process.id().pid() == FIRST_PROCESS) {
            return "it is the first process of the machine";
        }
        if (process.id().pid() == ownPid) {
            return "it is genv-enforcer itself";
        }
        return process.kernelThread() ? "it is a kernel thread" : whatItRuns(process);
    }

    private @Nullable String whatItRuns(ObservedProcess process) {
        var candidates = programs.stream()
                .filter(program -> program.appliesTo(process.uid()))
                .toList();
        if (candidates.isEmpty()) {
            return null;
        }
        switch (process.executable()) {
            case Reading.Value<ProgramFile>(var running) -> {
                for (var candidate : candidates) {
                    if (candidate.isRunBy(running)) {
                        return "it runs " + candidate.executable().path();
                    }
                }
            }
            case Reading.Failed<ProgramFile>(var failure, var reason) -> {
                if (failure != Failure.UNTRUSTED) {
                    return reason.isEmpty() ? UNKNOWN_PROGRAM : UNKNOWN_PROGRAM + ": " + reason;
                }
            }
        }
        return candidates.stream()
                .filter(ProtectedProgram::isUnknown)
                .findFirst()
                .map(candidate -> "it is unknown whether it runs %s"
                        .formatted(candidate.executable().path()))
                .orElse(null);
    }
}
