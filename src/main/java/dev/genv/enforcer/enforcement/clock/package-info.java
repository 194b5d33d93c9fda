/** The clocks of the cycle: the time of day, a monotonic mark, and the time that counts towards an action. */
@NullMarked
package dev.genv.enforcer.enforcement.clock;

import org.jspecify.annotations.NullMarked;
