/** Executes the orders of a cycle on the hosts. */
@NullMarked
package dev.genv.enforcer.enforcement.dispatch;

import org.jspecify.annotations.NullMarked;
