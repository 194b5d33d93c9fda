/** To which container, pod, Slurm job and unit of systemd a process belongs. */
@NullMarked
package dev.genv.enforcer.observation.workload;

import org.jspecify.annotations.NullMarked;
