/** The settings: one mapping for each group, which SmallRye Config reads from environment variables only. */
@NullMarked
package dev.genv.enforcer.config.settings;

import org.jspecify.annotations.NullMarked;
