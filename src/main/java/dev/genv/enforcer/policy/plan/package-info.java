/** The result of a check: violations, and the actions that they ask for. */
@NullMarked
package dev.genv.enforcer.policy.plan;

import org.jspecify.annotations.NullMarked;
