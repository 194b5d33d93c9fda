/** Interprets the answers of genv itself, for machines without another agent. */
@NullMarked
package dev.genv.enforcer.observation.genv;

import org.jspecify.annotations.NullMarked;
