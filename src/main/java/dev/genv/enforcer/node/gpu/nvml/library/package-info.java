/** The library of NVML: its file, and the calls of its functions. */
@NullMarked
package dev.genv.enforcer.node.gpu.nvml.library;

import org.jspecify.annotations.NullMarked;
