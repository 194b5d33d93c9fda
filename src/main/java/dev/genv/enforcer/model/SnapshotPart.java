package dev.genv.enforcer.model;

/** The parts of an observation of a machine. Each part may be missing. */
public enum SnapshotPart implements Labelled {
    /** The devices and processes that the GPU tool lists. */
    PROCESSES,
    /** The completeness of those processes: missing if a line of the GPU tool cannot be parsed. */
    EVERY_PROCESS,
    /** The environs of those processes: missing if no time or no reader was left for one, whose membership is unknown then. */
    EVERY_ENVIRON,
    /** The active environments ({@code envs.json}). */
    ENVIRONMENTS,
    /** The attached devices ({@code devices.json}). */
    ATTACHMENTS,
    /** The uids of the users whom settings exempt: missing if one is not found, so that nothing is done to whoever may be this user. */
    EXEMPT_USERS
}
