/** The settings: one mapping for each group, read by SmallRye Config from environment variables and from nothing else. */
@NullMarked
package dev.genv.enforcer.config.settings;

import org.jspecify.annotations.NullMarked;
