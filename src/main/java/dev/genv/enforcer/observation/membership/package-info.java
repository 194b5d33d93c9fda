/** Decides which environment a process belongs to, from facts of the kernel. Pure, but for what is remembered of earlier observations. */
@NullMarked
package dev.genv.enforcer.observation.membership;

import org.jspecify.annotations.NullMarked;
