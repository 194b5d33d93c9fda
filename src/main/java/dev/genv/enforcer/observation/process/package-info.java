/** Which process it is that facts are about. Pure, but for what is remembered of earlier checks. */
@NullMarked
package dev.genv.enforcer.observation.process;

import org.jspecify.annotations.NullMarked;
