/** The metrics of {@code genv monitor} (genv 1.4.3), under its names. */
@NullMarked
package dev.genv.enforcer.telemetry.genv;

import org.jspecify.annotations.NullMarked;
