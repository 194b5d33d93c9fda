/** The GPUs and their processes, as the GPU tool lists them. */
@NullMarked
package dev.genv.enforcer.observation.gpu;

import org.jspecify.annotations.NullMarked;
