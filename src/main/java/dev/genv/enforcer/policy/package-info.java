/** The policy: a pure function that applies the configured rules to observed machines and plans actions. */
@NullMarked
package dev.genv.enforcer.policy;

import org.jspecify.annotations.NullMarked;
