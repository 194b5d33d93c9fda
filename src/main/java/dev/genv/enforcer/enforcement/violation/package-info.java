/** The active and resolved violations, and the actions on them. */
@NullMarked
package dev.genv.enforcer.enforcement.violation;

import org.jspecify.annotations.NullMarked;
