/** Gathers facts and executes orders through genv itself, with genv's own remote protocol. */
@NullMarked
package dev.genv.enforcer.remote.genv;

import org.jspecify.annotations.NullMarked;
