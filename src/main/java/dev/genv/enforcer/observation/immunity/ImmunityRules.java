package dev.genv.enforcer.observation.immunity;

import dev.genv.enforcer.facts.FileId;
import dev.genv.enforcer.facts.ProcessFacts.ExecutableFacts;
import dev.genv.enforcer.facts.ProgramFile;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.user.Accounts;
import dev.genv.enforcer.observation.process.ObservedProcess;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
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
     * A protected program that exists.
     *
     * @param file the identity of its file; null if unknown
     * @param uid the user for whom it is protected besides root
     */
    public record ProtectedProgram(
            ProtectedExecutable executable, @Nullable FileId file, long uid) {
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
     * @throws IllegalArgumentException if not all programs are in it
     */
    public static Found<ImmunityRules> of(
            List<String> exemptUsers,
            List<ProtectedExecutable> executables,
            int ownPid,
            Accounts accounts,
            List<Reading<ProgramFile>> files) {
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
                    programs.add(new ProtectedProgram(executable, file.id(), owner.value()));
                case Reading.Failed<ProgramFile>(var failure, var reason) -> {
                    switch (failure) {
                        case ABSENT -> executable.absent().ifPresent(problems::add);
                        case UNTRUSTED -> problems.add(executable.unusable(reason));
                        default -> {
                            // Its processes may still run, and they must stay immune.
                            problems.add(executable.unexamined(reason));
                            programs.add(new ProtectedProgram(executable, null, owner.value()));
                        }
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
    public Set<FileId> protectedFiles(@Nullable Long uid) {
        return programs.stream()
                .filter(program -> program.appliesTo(uid))
                .map(ProtectedProgram::file)
                .filter(Objects::nonNull)
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
        var file = switch (process.executable()) {
            case Reading.Value<ExecutableFacts>(var program) -> program;
            case Reading.Failed<ExecutableFacts> _ -> null;
        };
        if (file == null) {
            return unknown(process.executable());
        }
        if (file.file() instanceof Reading.Value<FileId>(var id)) {
            for (var candidate : candidates) {
                if (id.equals(candidate.file())) {
                    return "it runs " + candidate.executable().path();
                }
            }
        } else if (file.name() == null) {
            return unknown(file.file());
        }
        // A file that may not be read, or does not answer, is none of those that were just read.
        return candidates.stream()
                .filter(candidate -> candidate.file() == null)
                .findFirst()
                .map(candidate -> "it is unknown whether it runs %s"
                        .formatted(candidate.executable().path()))
                .orElse(null);
    }

    private static String unknown(Reading<?> reading) {
        return reading instanceof Reading.Failed<?>(var _, var reason) && !reason.isEmpty()
                ? UNKNOWN_PROGRAM + ": " + reason
                : UNKNOWN_PROGRAM;
    }
}
