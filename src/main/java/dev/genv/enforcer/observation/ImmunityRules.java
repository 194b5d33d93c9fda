package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.HostFacts.ProcessFacts.ParentFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Accounts.Match;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Ternary;
import dev.genv.enforcer.observation.ConfiguredUsers.ExemptUsers;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Decides which processes are never terminated. It uses facts of the kernel only, because a process chooses its name, its arguments
 * and its variables.
 *
 * @param ownPid the pid of the service itself on the machine
 * @param programs the protected programs that exist
 */
public record ImmunityRules(int ownPid, ExemptUsers exempt, ExemptCgroups cgroups, List<ProtectedProgram> programs) {
    private static final int FIRST_PROCESS = 1;

    public ImmunityRules {
        programs = List.copyOf(programs);
    }

    /**
     * A protected program.
     *
     * @param file its present file; null if there is none, or if it is unknown
     * @param files also the earlier ones
     * @param isUnknown whether its present file is unknown, so that any process may run it
     */
    public record ProtectedProgram(
            ProtectedExecutable executable, @Nullable ProgramFile file, Set<ProgramFile> files, boolean isUnknown) {
        boolean isRunBy(ProgramFile running) {
            return files.contains(running) || (file != null && file.id().equals(running.id()));
        }

        /** Whether it is protected for a process of this real uid; an unknown uid may be any. */
        Match appliesTo(@Nullable Long uid, Accounts accounts) {
            return executable.isForAllUsers() || uid == null || uid == ProtectedExecutable.ROOT_UID
                    ? Match.YES
                    : accounts.match(executable.user(), uid);
        }

        boolean hasPath(Path path) {
            return executable.path().equals(path);
        }
    }

    /**
     * Resolves the settings on a machine.
     *
     * @param files the files of these programs, in the same order
     * @param history their earlier files, to which these are added
     * @throws IllegalArgumentException if not all programs are in it
     */
    public static ImmunityRules of(
            ExemptUsers exempt,
            ExemptCgroups cgroups,
            List<ProtectedExecutable> executables,
            int ownPid,
            List<Reading<ProgramFile>> files,
            ProgramHistory history,
            Findings findings) {
        if (files.size() != executables.size()) {
            throw new IllegalArgumentException("not all protected programs are in it");
        }
        var programs = new ArrayList<ProtectedProgram>();
        for (var i = 0; i < files.size(); i++) {
            var executable = executables.get(i);
            switch (files.get(i)) {
                case Reading.Value<ProgramFile>(var file) ->
                    programs.add(
                            new ProtectedProgram(executable, file, history.remember(executable.path(), file), false));
                case Reading.Failed<ProgramFile>(var failure, var reason) -> {
                    executable.problem(failure, reason).ifPresent(findings::add);
                    // Its processes may still run, for example while an upgrade replaces the file, and they must stay
                    // immune.
                    var isUnknown = failure != Failure.ABSENT && failure != Failure.UNTRUSTED;
                    var known = history.known(executable.path());
                    if (isUnknown || !known.isEmpty()) {
                        programs.add(new ProtectedProgram(executable, null, known, isUnknown));
                    }
                }
            }
        }
        return new ImmunityRules(ownPid, exempt, cgroups, programs);
    }

    /**
     * Returns why a process is not terminated; null if it may be. What is immune for another reason too breaks no rule while its cgroup was
     * exempt a moment ago.
     *
     * @param owner the uid of the account whose it is; null if unknown
     * @param rangeOwner the uid of the user in whose range of subordinate uids its real uid is; null if it is in none
     */
    @Nullable
    public Immunity immunity(ObservedProcess process, @Nullable Long owner, @Nullable Long rangeOwner) {
        var cgroup = cgroups.immunity(process.facts().cgroup());
        if (cgroup == null || !cgroup.isOver()) {
            return immunity(process, owner, rangeOwner, cgroup);
        }
        var otherwise = immunity(process, owner, rangeOwner, null);
        return otherwise == null || otherwise.isOver()
                ? cgroup
                : new Immunity(Immunity.Kind.EXEMPT_CGROUP, cgroup.reason());
    }

    private @Nullable Immunity immunity(
            ObservedProcess process, @Nullable Long owner, @Nullable Long rangeOwner, @Nullable Immunity cgroup) {
        if (cgroup != null && Boolean.TRUE.equals(cgroup.isCertain())) {
            return cgroup;
        }
        var what = whatItIs(process);
        if (what != null || cgroup != null) {
            return what == null ? cgroup : what;
        }
        var exemption = exempt.immunity(process.uid());
        if (exemption == null && rangeOwner != null) {
            exemption = exempt.immunity(owner == null ? rangeOwner : owner);
            if (exemption != null && owner == null) {
                exemption = new Immunity(
                        Immunity.Kind.PERHAPS_EXEMPT, "its uid may be a subordinate one of an exempt user");
            }
        }
        if (exemption != null) {
            return exemption;
        }
        var program = whatItRuns(process, Match.UNKNOWN);
        return program == null
                ? null
                : new Immunity(
                        Immunity.Kind.PERHAPS_EXEMPT,
                        program.reason()
                                + ", and it is unknown whether it belongs to the user for whom that is protected",
                        program.isCertain());
    }

    private @Nullable Immunity whatItIs(ObservedProcess process) {
        if (process.pid() == FIRST_PROCESS) {
            return isProtected("it is the first process of the machine");
        }
        if (process.pid() == ownPid) {
            return isProtected("it is genv-enforcer itself");
        }
        return process.kernelThread() ? isProtected("it is a kernel thread") : whatItRuns(process, Match.YES);
    }

    private static Immunity isProtected(String reason) {
        return new Immunity(Immunity.Kind.PROTECTED, reason);
    }

    private static Immunity isPerhapsProtected(String reason) {
        return new Immunity(Immunity.Kind.PROTECTED, "it is unknown whether " + reason, false);
    }

    private @Nullable Immunity whatItRuns(ObservedProcess process, Match applies) {
        var candidates = programs.stream()
                .filter(program -> program.appliesTo(process.uid(), exempt.accounts()) == applies
                        && isStartedBy(program, process) != Ternary.NO)
                .toList();
        if (candidates.isEmpty()) {
            return null;
        }
        switch (process.facts().executable()) {
            case Reading.Value<ProgramFile>(var running) -> {
                for (var candidate : candidates) {
                    if (candidate.isRunBy(running)) {
                        var path = candidate.executable().path();
                        return isStartedBy(candidate, process) == Ternary.YES
                                ? isProtected("it runs " + path)
                                : isPerhapsProtected("root's %s started it, and it runs %s"
                                        .formatted(candidate.executable().starter(), path));
                    }
                }
            }
            case Reading.Failed<ProgramFile>(var failure, var reason) -> {
                if (failure != Failure.UNTRUSTED) {
                    return isPerhapsProtected("it runs a protected program" + (reason.isEmpty() ? "" : ": " + reason));
                }
            }
        }
        for (var candidate : candidates) {
            if (candidate.isUnknown()) {
                return isPerhapsProtected("it runs " + candidate.executable().path());
            }
        }
        return null;
    }

    /** Whether a process is a child of the protected program of root that must have started it, or runs as root itself. */
    private Ternary isStartedBy(ProtectedProgram program, ObservedProcess process) {
        var starter = program.executable().starter();
        if (starter == null || Objects.equals(process.uid(), ProtectedExecutable.ROOT_UID)) {
            return Ternary.YES;
        }
        var relations = process.relations();
        if (!(process.facts().parent() instanceof Reading.Value<ParentFacts>(var parent))
                || relations == null
                || relations.parent() != parent.pid()
                || !(parent.uid() instanceof Reading.Value<Long>(var uid))) {
            return Ternary.UNKNOWN;
        }
        if (uid != ProtectedExecutable.ROOT_UID) {
            return Ternary.NO;
        }
        var files = programs.stream().filter(each -> each.hasPath(starter)).toList();
        return switch (parent.executable()) {
            case Reading.Value<ProgramFile>(var running)
            when files.stream().anyMatch(each -> each.isRunBy(running)) -> Ternary.YES;
            case Reading.Failed<ProgramFile>(var failure, var _) when failure != Failure.UNTRUSTED -> Ternary.UNKNOWN;
            default -> files.stream().anyMatch(ProtectedProgram::isUnknown) ? Ternary.UNKNOWN : Ternary.NO;
        };
    }

    /**
     * The files that protected programs had, because a process keeps running the file that an upgrade replaces. Only files of the
     * present file system are kept: the number of one that was unmounted can become that of a user's.
     */
    public static final class ProgramHistory {
        private static final int MOST_FILES = 16;

        private final Map<Path, LinkedHashSet<ProgramFile>> files = new HashMap<>();

        /** Returns the earlier files at a path at which no file is now. */
        Set<ProgramFile> known(Path path) {
            return files.getOrDefault(path, new LinkedHashSet<>()).stream()
                    .filter(file -> file.born() != 0)
                    .collect(Collectors.toUnmodifiableSet());
        }

        /** Remembers the present file at a path, and returns it with the earlier ones. */
        Set<ProgramFile> remember(Path path, ProgramFile present) {
            var known = files.computeIfAbsent(path, _ -> new LinkedHashSet<>());
            known.removeIf(file ->
                    file.born() == 0 || file.id().device() != present.id().device());
            known.remove(present);
            known.add(present);
            if (known.size() > MOST_FILES) {
                known.removeFirst();
            }
            return Set.copyOf(known);
        }
    }

    /**
     * A program of the host whose processes are never terminated if they belong to root or to one other user.
     *
     * @param path its path on the host
     * @param user a name, a uid, or {@code *} for every user. Every user can have such a program load own code (LD_PRELOAD of ld.so(8))
     * @param starter it is protected for other users than root only as a child of this program of root; null for any parent
     */
    public record ProtectedExecutable(
            Path path, String user, @Nullable Path starter) {
        private static final String EVERYBODY = "*";
        static final String SETTING = "GENV_ENFORCER_PROTECTED_EXECUTABLES";
        static final long ROOT_UID = 0;
        private static final String ROOT = "0";
        private static final Pattern VALUE = Pattern.compile("(/.*?[^@])(?:@([^/:]+))?");

        private static final Path MPS_CONTROL = Path.of("/usr/bin/nvidia-cuda-mps-control");

        /** The programs that a GPU machine needs: GPU servers and display servers. The MPS server runs as the user of its clients. */
        static final List<ProtectedExecutable> BUILT_IN = Stream.concat(
                        Stream.of(
                                new ProtectedExecutable(
                                        Path.of("/usr/bin/nvidia-cuda-mps-server"), EVERYBODY, MPS_CONTROL),
                                new ProtectedExecutable(MPS_CONTROL, ROOT)),
                        Stream.of(
                                        "/usr/bin/nvidia-persistenced",
                                        "/usr/bin/nv-hostengine",
                                        "/usr/lib/xorg/Xorg",
                                        "/usr/libexec/Xorg",
                                        "/usr/bin/Xorg",
                                        "/usr/bin/Xwayland",
                                        "/usr/bin/gnome-shell",
                                        "/usr/bin/kwin_wayland",
                                        "/usr/bin/kwin_x11")
                                .map(ProtectedExecutable::parse))
                .toList();

        public ProtectedExecutable(Path path, String user) {
            this(path, user, null);
        }

        public static List<ProtectedExecutable> with(List<ProtectedExecutable> others) {
            return Stream.concat(others.stream(), BUILT_IN.stream()).distinct().toList();
        }

        boolean isForAllUsers() {
            return user.equals(EVERYBODY);
        }

        /** Returns the user besides root for whom it is protected; empty if there is none, or for every user. */
        Optional<String> oneUser() {
            return Optional.of(user).filter(one -> !one.equals(ROOT) && !isForAllUsers());
        }

        /** Returns the problem of a file that was not identified; empty if a built-in one does not exist, as on most machines. */
        Optional<Problem> problem(Failure failure, String reason) {
            if (failure == Failure.ABSENT && BUILT_IN.contains(this)) {
                return Optional.empty();
            }
            var consequence = "%s cannot be examined, so no process that may run it is terminated: %s";
            if (failure == Failure.ABSENT || failure == Failure.UNTRUSTED) {
                consequence = "%s protects no process (it must be a file of root that no other user can write): %s";
            }
            var why = failure == Failure.ABSENT ? "there is no such file on this host" : reason;
            return Optional.of(new Problem(
                    ProblemCode.PROTECTED_UNUSABLE,
                    (consequence + "; correct it, or remove it from %s").formatted(path, why, SETTING)));
        }

        /**
         * Parses {@code path}, {@code path@user} or {@code path@*}.
         *
         * @throws IllegalArgumentException with the expected form
         */
        public static ProtectedExecutable parse(String text) {
            var match = VALUE.matcher(text);
            try {
                if (match.matches()) {
                    var user = match.group(2) == null ? ROOT : match.group(2);
                    if (user.equals(EVERYBODY) || ConfiguredUsers.isUser(user)) {
                        return new ProtectedExecutable(Path.of(match.group(1)), user);
                    }
                }
            } catch (InvalidPathException e) {
                // The same message applies.
            }
            throw new IllegalArgumentException(
                    "expected absolute paths, each with @ and a user, with @*, or with neither,"
                            + " such as /opt/bin/server,/opt/bin/worker@alice");
        }
    }
}
