/** Deliveries of events to receivers outside the service: their figures, and how far they came. */
@NullMarked
package dev.genv.enforcer.enforcement.delivery;

import org.jspecify.annotations.NullMarked;
