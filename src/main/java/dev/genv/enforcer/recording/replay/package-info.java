/** What a policy would have done to the recorded past. */
@NullMarked
package dev.genv.enforcer.recording.replay;

import org.jspecify.annotations.NullMarked;
