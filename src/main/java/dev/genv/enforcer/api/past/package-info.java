/** Requests about the recorded past: their period, and the limits of reading it. */
@NullMarked
package dev.genv.enforcer.api.past;

import org.jspecify.annotations.NullMarked;
