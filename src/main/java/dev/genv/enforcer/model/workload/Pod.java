package dev.genv.enforcer.model.workload;

/**
 * A pod of Kubernetes.
 *
 * @param uid as the API server shows it or, for a static pod, the hash of its manifest
 */
public record Pod(String uid) {}
