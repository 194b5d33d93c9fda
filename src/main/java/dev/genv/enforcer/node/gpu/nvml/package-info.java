/** The GPUs and their processes, as NVIDIA's library NVML lists them. */
@NullMarked
package dev.genv.enforcer.node.gpu.nvml;

import org.jspecify.annotations.NullMarked;
