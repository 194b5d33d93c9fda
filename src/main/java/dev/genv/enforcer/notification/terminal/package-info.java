/** Messages on the terminals of users of this node. */
@NullMarked
package dev.genv.enforcer.notification.terminal;

import org.jspecify.annotations.NullMarked;
