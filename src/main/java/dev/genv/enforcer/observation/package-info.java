/** Interprets the facts of a machine, whichever source delivers them. Pure: no files, threads, clocks, or logs. */
@NullMarked
package dev.genv.enforcer.observation;

import org.jspecify.annotations.NullMarked;
