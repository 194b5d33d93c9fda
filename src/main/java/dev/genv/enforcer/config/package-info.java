/** Start-up checks, and the wiring of everything with everything. */
@NullMarked
package dev.genv.enforcer.config;

import org.jspecify.annotations.NullMarked;
