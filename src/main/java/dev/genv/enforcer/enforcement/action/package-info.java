/** Selects and executes planned actions, and tracks signalled processes until they exit. */
@NullMarked
package dev.genv.enforcer.enforcement.action;

import org.jspecify.annotations.NullMarked;
