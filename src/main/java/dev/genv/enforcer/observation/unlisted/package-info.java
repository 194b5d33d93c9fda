/** Finds the memory and the processes that the GPU tool does not list. Pure, but for what is remembered of earlier observations. */
@NullMarked
package dev.genv.enforcer.observation.unlisted;

import org.jspecify.annotations.NullMarked;
