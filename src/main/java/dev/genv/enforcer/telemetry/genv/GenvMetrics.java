package dev.genv.enforcer.telemetry.genv;

/** Which of genv's own metrics are exported. */
public enum GenvMetrics {
    OFF,
    /** Those of machines and devices, whose number is known. */
    HOSTS,
    /** Also those with labels that users choose, or whose number grows with the number of processes. */
    ALL
}
