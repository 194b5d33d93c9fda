/** Reads the settings from environment variables, and reports all errors at once. */
@NullMarked
package dev.genv.enforcer.config.settings.reading;

import org.jspecify.annotations.NullMarked;
