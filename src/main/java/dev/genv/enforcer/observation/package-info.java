/** Combines the facts of a machine, which come from local files or over SSH. No I/O. */
@NullMarked
package dev.genv.enforcer.observation;

import org.jspecify.annotations.NullMarked;
