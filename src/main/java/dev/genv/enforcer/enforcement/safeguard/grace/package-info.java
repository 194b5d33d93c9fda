/** The grace periods that an action waits for, each for one violation that asks for it. */
@NullMarked
package dev.genv.enforcer.enforcement.safeguard.grace;

import org.jspecify.annotations.NullMarked;
