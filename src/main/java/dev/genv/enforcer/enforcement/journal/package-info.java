/** The active and resolved violations, and the actions on them. */
@NullMarked
package dev.genv.enforcer.enforcement.journal;

import org.jspecify.annotations.NullMarked;
