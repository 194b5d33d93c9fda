/** Which processes are never terminated. */
@NullMarked
package dev.genv.enforcer.observation.immunity;

import org.jspecify.annotations.NullMarked;
