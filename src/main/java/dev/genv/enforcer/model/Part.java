package dev.genv.enforcer.model;

/** The parts of a machine that are looked at, each of which may be out of sight for a while. */
public enum Part {
    /** The devices and processes that the GPU tool lists. */
    PROCESSES,
    /** Every single one of those processes: missing where some line of the GPU tool cannot be understood. */
    EVERY_PROCESS,
    /** Which environments are alive ({@code envs.json}). */
    ENVIRONMENTS,
    /** Which devices they hold ({@code devices.json}). */
    ATTACHMENTS
}
