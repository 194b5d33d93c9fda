package dev.genv.enforcer.model;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/** Which environment a process belongs to. Not to know is an answer of its own, and never a reason to end anything. */
public sealed interface Membership {

    /** The process names this environment, whether or not there is one of that name. */
    record InEnvironment(String eid) implements Membership {}

    /** The process names no environment, or an empty one. */
    record Outside() implements Membership {}

    /**
     * Nobody can tell, for this reason.
     *
     * @param listed whether an environment lists the pid of a process that names none, and all was seen that there is to see
     */
    record Unknown(String reason, boolean listed) implements Membership {
        /** What would tell was not seen. */
        public Unknown(String reason) {
            this(reason, false);
        }
    }

    /** Unknown for want of a right: of SYS_PTRACE, of DAC_READ_SEARCH, or of both. */
    Unknown NOT_PERMITTED = new Unknown("not permitted to read its environment");

    /**
     * What a process says of itself, seen beside the environments of its machine. A process without an id whose pid
     * stands in an environment is unknown: genv's Python SDK and Ray set the id inside a running process, where
     * {@code /proc/PID/environ} never shows it.
     *
     * @param listed the pids that stand in an environment, from {@link #ofListedPids}
     */
    static Membership resolve(Membership own, int pid, Map<Integer, Unknown> listed) {
        return own instanceof Outside ? Objects.requireNonNullElse(listed.get(pid), own) : own;
    }

    /** What is to be thought of a process that names none of these environments, by the pids that stand in them. */
    static Map<Integer, Unknown> ofListedPids(Collection<Environment> environments) {
        var listed = new HashMap<Integer, Unknown>();
        for (var environment : environments) {
            var unknown =
                    new Unknown("names no environment, but environment " + environment.eid() + " lists its pid", true);
            environment.pids().forEach(pid -> listed.putIfAbsent(pid, unknown));
        }
        return listed;
    }
}
