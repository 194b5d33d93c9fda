/** Start-up checks, and the creation of all objects. */
@NullMarked
package dev.genv.enforcer.config;

import org.jspecify.annotations.NullMarked;
