/** Liveness, readiness and startup checks. */
@NullMarked
package dev.genv.enforcer.api.health;

import org.jspecify.annotations.NullMarked;
