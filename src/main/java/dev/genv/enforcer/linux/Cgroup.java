package dev.genv.enforcer.linux;

import java.util.Arrays;
import java.util.regex.Pattern;

/**
 * The cgroup of a process, see cgroups(7).
 *
 * @param path in the hierarchy of version 2; empty if there is none or it is unknown
 */
public record Cgroup(String path) {
    public static final Cgroup UNKNOWN = new Cgroup("");

    private static final Pattern UNIFIED = Pattern.compile("^0::(/.*)$", Pattern.MULTILINE);
    /** Container engines name a cgroup after the 64 hexadecimal digits of the container's id. */
    private static final Pattern CONTAINER = Pattern.compile("(?:.*[-:])?[0-9a-f]{64}(?:\\.scope)?");
    /** What systemd starts as one. The manager of a user's services is no such service, and {@code init.scope} is the manager. */
    private static final Pattern UNIT = Pattern.compile("(?!user@|init\\.scope$).*\\.(?:scope|service)");

    /** Parses {@code /proc/PID/cgroup}. */
    public static Cgroup parse(String text) {
        var line = UNIFIED.matcher(text);
        return line.find() ? new Cgroup(line.group(1)) : UNKNOWN;
    }

    /** Whether it is a container, or a scope or service of systemd, so that its processes were started for one purpose. */
    public boolean isUnit() {
        var names = path.split("/");
        return Arrays.stream(names).anyMatch(name -> CONTAINER.matcher(name).matches())
                || (names.length > 0 && UNIT.matcher(names[names.length - 1]).matches());
    }

    /** Whether both are the same container or unit. On a machine without cgroups of version 2 all have the same path, which is none. */
    public boolean isSameUnit(Cgroup other) {
        return isUnit() && equals(other);
    }
}
