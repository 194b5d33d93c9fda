package dev.genv.enforcer.model;

import java.util.Locale;

/** By what the membership of a process was decided. */
public enum MembershipSource {
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
    UNKNOWN;

    /** Returns the name in the API. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
