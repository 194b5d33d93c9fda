/** What a rule declares of itself, and how it is configured. */
@NullMarked
package dev.genv.enforcer.policy.definition;

import org.jspecify.annotations.NullMarked;
