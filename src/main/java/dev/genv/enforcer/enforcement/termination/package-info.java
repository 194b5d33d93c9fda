/** The life of each termination, from SIGTERM until the process has exited or complies. */
@NullMarked
package dev.genv.enforcer.enforcement.termination;

import org.jspecify.annotations.NullMarked;
