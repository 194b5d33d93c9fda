/** What the journal keeps of the memory of the cycles, so that a restart equals a suspension of the service. */
@NullMarked
package dev.genv.enforcer.enforcement.saved;

import org.jspecify.annotations.NullMarked;
