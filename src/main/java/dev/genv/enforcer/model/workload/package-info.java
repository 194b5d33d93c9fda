/** What a process on a GPU belongs to besides its environment: a container, a pod, a Slurm job, a unit of systemd. */
@NullMarked
package dev.genv.enforcer.model.workload;

import org.jspecify.annotations.NullMarked;
