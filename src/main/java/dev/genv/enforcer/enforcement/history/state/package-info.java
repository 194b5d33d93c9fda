/** The earlier states of each host, and the state changes on which violations rest. */
@NullMarked
package dev.genv.enforcer.enforcement.history.state;

import org.jspecify.annotations.NullMarked;
