/** Processes as {@code /proc} shows them, and the privileges of the service itself. */
@NullMarked
package dev.genv.enforcer.node.proc;

import org.jspecify.annotations.NullMarked;
