/** How long something has been observed or reported. */
@NullMarked
package dev.genv.enforcer.enforcement.history.time;

import org.jspecify.annotations.NullMarked;
