/** What the facts of a machine add up to, however they were come by: over its own files here, or from afar. No I/O. */
@NullMarked
package dev.genv.enforcer.observation;

import org.jspecify.annotations.NullMarked;
