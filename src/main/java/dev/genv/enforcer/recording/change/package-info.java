/** What changed on a host from one recorded observation to the next, and its form as JSON. */
@NullMarked
package dev.genv.enforcer.recording.change;

import org.jspecify.annotations.NullMarked;
