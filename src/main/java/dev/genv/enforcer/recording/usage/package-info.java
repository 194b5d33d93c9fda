/** Which user held and used which devices. */
@NullMarked
package dev.genv.enforcer.recording.usage;

import org.jspecify.annotations.NullMarked;
