/** Converts the values of settings, and checks their types and bounds. */
@NullMarked
package dev.genv.enforcer.config.settings.converters;

import org.jspecify.annotations.NullMarked;
