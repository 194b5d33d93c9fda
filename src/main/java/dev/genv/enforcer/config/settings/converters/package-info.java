/** Reads the values of settings: types and bounds. */
@NullMarked
package dev.genv.enforcer.config.settings.converters;

import org.jspecify.annotations.NullMarked;
