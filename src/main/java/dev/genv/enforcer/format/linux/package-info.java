/** Parses files of Linux. */
@NullMarked
package dev.genv.enforcer.format.linux;

import org.jspecify.annotations.NullMarked;
