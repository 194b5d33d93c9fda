package dev.genv.enforcer.model;

/** The environment that a process belongs to. An unknown membership is a separate case and never a reason to terminate a process. */
public sealed interface Membership {

    /** The process names this environment, which may or may not exist. */
    record InEnvironment(String eid) implements Membership {}

    /** The process names no environment, or an empty id, whatever environments list its pid. */
    record Outside() implements Membership {}

    /** The membership is unknown for this reason. */
    record Unknown(String reason) implements Membership {}

    /** Unknown because the service lacks SYS_PTRACE, DAC_READ_SEARCH, or both. */
    Unknown NOT_PERMITTED = new Unknown("not permitted to read its environment");

    /** By what the membership of a process was decided. */
    enum MembershipSource implements Labelled {
        /** Its environ. */
        ENVIRON,
        /** What its environ was in an earlier observation of the same program. */
        EARLIER,
        /** The environ of an ancestor. */
        ANCESTOR,
        /** A setting for processes whose membership cannot be inferred. */
        SETTING,
        /** Nothing: it is unknown. */
        UNKNOWN
    }
}
