package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A program of the host whose processes are never ended: those of root, and those of one more user.
 *
 * @param path where it lies on the host
 * @param user a name, a uid, or {@code *} for everybody
 */
public record ProtectedExecutable(Path path, String user) {
    public static final String EVERYBODY = "*";
    static final String SETTING = "GENV_ENFORCER_PROTECTED_EXECUTABLES";
    static final long ROOT_UID = 0;
    private static final String ROOT = "0";
    private static final Pattern VALUE = Pattern.compile("(/.*?[^@])(?:@([^@/:]+))?");

    /** What a machine with GPUs cannot do without: the servers of the GPUs and those of the screens. */
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

    /** All that are protected: these, and those that are built in. */
    public static List<ProtectedExecutable> with(List<ProtectedExecutable> others) {
        return Stream.concat(others.stream(), BUILT_IN.stream()).distinct().toList();
    }

    /** Whether it is protected whoever runs it. */
    public boolean isEverybodys() {
        return user.equals(EVERYBODY);
    }

    /** That there is no such file; nothing where nobody asked for it. */
    public Optional<Problem> absent() {
        return BUILT_IN.contains(this) ? Optional.empty() : Optional.of(unusable("there is no such file on this host"));
    }

    /** That not root alone decides what file that is. */
    public Problem unusable(String why) {
        return new Problem(
                ProblemCode.PROTECTED_UNUSABLE,
                "%s protects no process (it must be a file of root's that nobody else can write): %s; correct it, or take it out of %s"
                        .formatted(path, why, SETTING));
    }

    /** That it cannot be told which file that is: its processes may be there all the same. */
    public Problem unexamined(String why) {
        return new Problem(
                ProblemCode.PROTECTED_UNUSABLE,
                "%s cannot be examined, so that no process is ended that could run it: %s; correct it, or take it out of %s"
                        .formatted(path, why, SETTING));
    }

    /**
     * Reads {@code path}, {@code path@user} or {@code path@*}.
     *
     * @throws IllegalArgumentException saying what would be right
     */
    public static ProtectedExecutable parse(String text) {
        var match = VALUE.matcher(text);
        try {
            if (match.matches()) {
                var user = match.group(2);
                return new ProtectedExecutable(Path.of(match.group(1)), user == null ? ROOT : user);
            }
        } catch (InvalidPathException e) {
            // The same complaint fits.
        }
        throw new IllegalArgumentException("expected absolute paths, each with @ and a user, with @*, or with neither,"
                + " such as /opt/bin/server,/opt/bin/worker@alice");
    }
}
