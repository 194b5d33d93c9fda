/** The settings: one mapping for each group, with types, defaults and bounds. */
@NullMarked
package dev.genv.enforcer.config.settings;

import org.jspecify.annotations.NullMarked;
