/** The rules: pure functions from observed machines to violations and planned actions. */
@NullMarked
package dev.genv.enforcer.policy;

import org.jspecify.annotations.NullMarked;
