package dev.genv.enforcer.model;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/** The environment that a process belongs to. An unknown membership is a separate case and never a reason to terminate a process. */
public sealed interface Membership {

    /** The process names this environment, which may or may not exist. */
    record InEnvironment(String eid) implements Membership {}

    /** The process names no environment, or an empty id. */
    record Outside() implements Membership {}

    /**
     * The membership is unknown for this reason.
     *
     * @param listed whether an environment lists the pid of a process that names none, and the observation was complete
     */
    record Unknown(String reason, boolean listed) implements Membership {
        public Unknown(String reason) {
            this(reason, false);
        }
    }

    /** Unknown because the service lacks SYS_PTRACE, DAC_READ_SEARCH, or both. */
    Unknown NOT_PERMITTED = new Unknown("not permitted to read its environment");

    /**
     * Combines the environ of a process with the environments of its machine. A process without an id whose pid is listed in an
     * environment is unknown: genv's Python SDK and Ray set the id in a running process, and {@code /proc/PID/environ} does not show it.
     *
     * @param listed the pids that environments list, from {@link #ofListedPids}
     */
    static Membership resolve(Membership own, int pid, Map<Integer, Unknown> listed) {
        return own instanceof Outside ? Objects.requireNonNullElse(listed.get(pid), own) : own;
    }

    /** Returns, for each pid that an environment lists, the membership of a process that names no environment. */
    static Map<Integer, Unknown> ofListedPids(Collection<Environment> environments) {
        var listed = new HashMap<Integer, Unknown>();
        for (var environment : environments) {
            var unknown =
                    new Unknown("names no environment, but environment " + environment.eid() + " lists its pid", true);
            environment.pids().forEach(pid -> listed.putIfAbsent(pid, unknown));
        }
        return listed;
    }

    /** By what the membership of a process was decided. */
    enum MembershipSource implements Labelled {
        /** Its environ. */
        ENVIRON,
        /** What its environ was in an earlier observation of the same program. */
        EARLIER,
        /** The environ of an ancestor. */
        ANCESTOR,
        /** An ancestor, or the process itself, whose pid an environment lists. */
        LISTED,
        /** The environs of its session leader and of its process group. */
        SESSION,
        /** The environs in its container, systemd scope, or systemd service. */
        CGROUP,
        /** A setting for processes whose membership cannot be inferred. */
        SETTING,
        /** Nothing: it is unknown. */
        UNKNOWN
    }
}
