package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.StateFacts.Directory;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A line of {@code /proc/PID/mountinfo}.
 *
 * @param device of the file system, as {@code major:minor}
 * @param root the directory of the file system that is mounted
 * @param point the mount point
 * @param type of the file system, such as {@code ext4} or {@code fuse.sshfs}
 * @param options of the file system
 */
public record Mount(String device, Path root, Path point, String type, String options) {
    private static final Pattern LINE =
            Pattern.compile("\\d+ \\d+ (\\d+:\\d+) (/\\S*) (/\\S*) \\S+(?: \\S+)*? - (\\S+) \\S* (\\S*)");
    private static final Pattern USER = Pattern.compile("(?:^|,)user_id=(\\d{1,10})(?:,|$)");
    private static final Pattern ESCAPED = Pattern.compile("\\\\([0-3][0-7]{2})");

    /** Parses the valid lines, in the order of mounting. */
    public static List<Mount> parse(List<String> lines) {
        return lines.stream()
                .map(LINE::matcher)
                .filter(line -> line.matches())
                .flatMap(line -> of(line).stream())
                .toList();
    }

    /** Returns the mount that contains a path: the innermost one and, of several at the same point, the last one. */
    public static Optional<Mount> of(List<String> lines, Path path) {
        return parse(lines).stream()
                .filter(mount -> path.startsWith(mount.point))
                .reduce((one, next) -> next.point.getNameCount() >= one.point.getNameCount() ? next : one);
    }

    /** Returns the uid of the user whose process serves the file system (FUSE); empty if the kernel serves it. */
    OptionalLong user() {
        var match = USER.matcher(options);
        return type.startsWith("fuse") && match.find()
                ? OptionalLong.of(Long.parseLong(match.group(1)))
                : OptionalLong.empty();
    }

    /**
     * Returns a file system that a user has mounted over a directory or in it (FUSE).
     *
     * @param mountinfo the lines of {@code /proc/PID/mountinfo}
     * @param trusted the uid that is trusted besides root's
     */
    public static Optional<Directory.UserMount> ofUser(Path directory, List<String> mountinfo, long trusted) {
        if (mountinfo.stream().noneMatch(line -> line.contains("user_id="))) {
            return Optional.empty(); // as on most machines
        }
        var within = parse(mountinfo).stream().filter(mount -> mount.point.startsWith(directory));
        return Stream.concat(of(mountinfo, directory).stream(), within)
                .filter(mount -> mount.user().isPresent())
                .filter(mount -> mount.user().getAsLong() != 0 && mount.user().getAsLong() != trusted)
                .findFirst()
                .map(mount -> new Directory.UserMount(mount.user().orElseThrow(), mount.type, mount.point.toString()));
    }

    public Path inFileSystem(Path path) {
        return root.resolve(point.relativize(path)).normalize();
    }

    public Path inMount(Path inFileSystem) {
        return point.resolve(root.relativize(inFileSystem)).normalize();
    }

    /** Empty if a path contains characters that Java cannot represent here: users choose names of mounts. */
    private static Optional<Mount> of(Matcher line) {
        try {
            return Optional.of(
                    new Mount(line.group(1), path(line.group(2)), path(line.group(3)), line.group(4), line.group(5)));
        } catch (InvalidPathException e) {
            return Optional.empty();
        }
    }

    /** Spaces and similar characters are written in octal. */
    private static Path path(String text) {
        return Path.of(ESCAPED.matcher(text)
                .replaceAll(
                        match -> Matcher.quoteReplacement(Character.toString(Integer.parseInt(match.group(1), 8)))));
    }
}
