/** The creation of all objects, and what they share. */
@NullMarked
package dev.genv.enforcer.config;

import org.jspecify.annotations.NullMarked;
