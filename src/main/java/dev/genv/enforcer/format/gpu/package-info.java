/** The queries to nvidia-smi, and its answers. */
@NullMarked
package dev.genv.enforcer.format.gpu;

import org.jspecify.annotations.NullMarked;
