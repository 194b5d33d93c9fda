/** The form of recorded changes as JSON. */
@NullMarked
package dev.genv.enforcer.recording.change.json;

import org.jspecify.annotations.NullMarked;
