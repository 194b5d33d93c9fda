package dev.genv.enforcer.node;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A line of {@code /proc/PID/mountinfo}.
 *
 * @param device of the file system, as {@code major:minor}
 * @param root which of its directories is mounted
 * @param point where
 * @param type of the file system, such as {@code ext4} or {@code fuse.sshfs}
 * @param options of the file system
 */
record Mount(String device, Path root, Path point, String type, String options) {
    private static final Pattern LINE =
            Pattern.compile("\\d+ \\d+ (\\d+:\\d+) (/\\S*) (/\\S*) \\S+(?: \\S+)*? - (\\S+) \\S* (\\S*)");
    private static final Pattern USER = Pattern.compile("(?:^|,)user_id=(\\d{1,10})(?:,|$)");
    private static final Pattern ESCAPED = Pattern.compile("\\\\([0-3][0-7]{2})");

    /** Those that can be understood, in the order in which they were mounted. */
    static List<Mount> parse(List<String> lines) {
        return lines.stream()
                .map(LINE::matcher)
                .filter(line -> line.matches())
                .flatMap(line -> of(line).stream())
                .toList();
    }

    /** The one that a path is in: the innermost, and of several at the same place the last. */
    static Optional<Mount> of(List<String> lines, Path path) {
        return parse(lines).stream()
                .filter(mount -> path.startsWith(mount.point))
                .reduce((one, next) -> next.point.getNameCount() >= one.point.getNameCount() ? next : one);
    }

    /** The uid of the user who serves it from a process of his own (FUSE); empty where the kernel does. */
    OptionalLong user() {
        var match = USER.matcher(options);
        return type.startsWith("fuse") && match.find()
                ? OptionalLong.of(Long.parseLong(match.group(1)))
                : OptionalLong.empty();
    }

    Path inFileSystem(Path path) {
        return root.resolve(point.relativize(path)).normalize();
    }

    Path inMount(Path inFileSystem) {
        return point.resolve(root.relativize(inFileSystem)).normalize();
    }

    /** Nothing where a path has letters that Java does not take for any here: users name mounts, too. */
    private static Optional<Mount> of(Matcher line) {
        try {
            return Optional.of(
                    new Mount(line.group(1), path(line.group(2)), path(line.group(3)), line.group(4), line.group(5)));
        } catch (InvalidPathException e) {
            return Optional.empty();
        }
    }

    /** Blanks and such are written in octal. */
    private static Path path(String text) {
        return Path.of(ESCAPED.matcher(text)
                .replaceAll(
                        match -> Matcher.quoteReplacement(Character.toString(Integer.parseInt(match.group(1), 8)))));
    }
}
