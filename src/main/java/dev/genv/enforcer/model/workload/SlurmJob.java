package dev.genv.enforcer.model.workload;

/**
 * A job of Slurm.
 *
 * @param id its number
 */
public record SlurmJob(String id, WorkloadSource by) {}
