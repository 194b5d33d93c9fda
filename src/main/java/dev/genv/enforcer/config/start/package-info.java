/** The start of the service, the loop of its cycles, and its end. */
@NullMarked
package dev.genv.enforcer.config.start;

import org.jspecify.annotations.NullMarked;
