/** The rules, one class each: pure functions of the model. To add one, add a class and a line to {@code Rules}. */
@NullMarked
package dev.genv.enforcer.policy.rule;

import org.jspecify.annotations.NullMarked;
