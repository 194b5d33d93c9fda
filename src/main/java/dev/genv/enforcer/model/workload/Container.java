package dev.genv.enforcer.model.workload;

import org.jspecify.annotations.Nullable;

/**
 * A container.
 *
 * @param id 64 hexadecimal digits; the name of a container of LXC
 * @param engine the engine that created it, such as {@code docker}; null if its cgroup does not show it
 */
public record Container(String id, @Nullable String engine, WorkloadSource by) {}
