package dev.genv.enforcer.enforcement.host;

/** Whether the service acts at all. */
public enum ServiceMode {
    /** The service executes the actions that the rules ask for. */
    ENFORCE,
    /** The service reports violations and executes no action. */
    AUDIT
}
