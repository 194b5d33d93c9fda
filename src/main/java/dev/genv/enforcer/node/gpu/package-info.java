/** The GPUs and their processes, as nvidia-smi lists them. */
@NullMarked
package dev.genv.enforcer.node.gpu;

import org.jspecify.annotations.NullMarked;
