package dev.genv.enforcer.observation.process;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A program of the host whose processes are never terminated if they belong to root or to one other user.
 *
 * @param path its path on the host
 * @param user a name, a uid, or {@code *} for every user
 */
public record ProtectedExecutable(Path path, String user) {
    public static final String EVERYBODY = "*";
    static final String SETTING = "GENV_ENFORCER_PROTECTED_EXECUTABLES";
    static final long ROOT_UID = 0;
    private static final String ROOT = "0";
    private static final Pattern VALUE = Pattern.compile("(/.*?[^@])(?:@([^@/:]+))?");

    /** The programs that a GPU machine needs: GPU servers and display servers. */
    public static final List<ProtectedExecutable> BUILT_IN = Stream.concat(
                    Stream.of(new ProtectedExecutable(Path.of("/usr/bin/nvidia-cuda-mps-server"), EVERYBODY)),
                    Stream.of(
                                    "/usr/bin/nvidia-cuda-mps-control",
                                    "/usr/bin/nvidia-persistenced",
                                    "/usr/bin/nv-hostengine",
                                    "/usr/lib/xorg/Xorg",
                                    "/usr/libexec/Xorg",
                                    "/usr/bin/Xorg",
                                    "/usr/bin/Xwayland",
                                    "/usr/bin/gnome-shell",
                                    "/usr/bin/kwin_wayland",
                                    "/usr/bin/kwin_x11")
                            .map(path -> new ProtectedExecutable(Path.of(path), ROOT)))
            .toList();

    /** Returns all protected programs: these and the built-in ones. */
    public static List<ProtectedExecutable> with(List<ProtectedExecutable> others) {
        return Stream.concat(others.stream(), BUILT_IN.stream()).distinct().toList();
    }

    /** Whether it is protected for every user. */
    public boolean isForAllUsers() {
        return user.equals(EVERYBODY);
    }

    public Optional<Problem> absent() {
        return BUILT_IN.contains(this) ? Optional.empty() : Optional.of(unusable("there is no such file on this host"));
    }

    /** Returns the problem that a user other than root can replace the file. */
    public Problem unusable(String why) {
        return new Problem(
                ProblemCode.PROTECTED_UNUSABLE,
                "%s protects no process (it must be a file of root that no other user can write): %s; correct it, or remove it from %s"
                        .formatted(path, why, SETTING));
    }

    /** Returns the problem that the file cannot be identified; its processes may run. */
    public Problem unexamined(String why) {
        return new Problem(
                ProblemCode.PROTECTED_UNUSABLE,
                "%s cannot be examined, so no process that may run it is terminated: %s; correct it, or remove it from %s"
                        .formatted(path, why, SETTING));
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
                var user = match.group(2);
                return new ProtectedExecutable(Path.of(match.group(1)), user == null ? ROOT : user);
            }
        } catch (InvalidPathException e) {
            // The same message applies.
        }
        throw new IllegalArgumentException("expected absolute paths, each with @ and a user, with @*, or with neither,"
                + " such as /opt/bin/server,/opt/bin/worker@alice");
    }
}
