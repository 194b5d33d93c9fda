package dev.genv.enforcer.model.workload;

import org.jspecify.annotations.Nullable;

/**
 * A pod of Kubernetes. Its uid is in the cgroup, and the names are those of the kubelet's log files.
 *
 * @param uid as the API server shows it or, for a static pod, the hash of its manifest
 * @param namespace null if unknown
 * @param name null if unknown
 * @param container the name of the container in the pod; null if unknown
 */
public record Pod(
        String uid,
        @Nullable String namespace,
        @Nullable String name,
        @Nullable String container) {}
