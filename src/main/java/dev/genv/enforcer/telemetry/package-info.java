/** The Prometheus metrics. */
@NullMarked
package dev.genv.enforcer.telemetry;

import org.jspecify.annotations.NullMarked;
