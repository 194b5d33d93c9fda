/** The recorded past, as those who read it see it. */
@NullMarked
package dev.genv.enforcer.recording.past;

import org.jspecify.annotations.NullMarked;
