/** The node as a machine: genv's state files, the GPUs, {@code /proc}, signals. */
@NullMarked
package dev.genv.enforcer.node;

import org.jspecify.annotations.NullMarked;
