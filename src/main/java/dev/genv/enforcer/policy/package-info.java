/** What is wrong on the machines and what should be done about it: pure functions of the model. */
@NullMarked
package dev.genv.enforcer.policy;

import org.jspecify.annotations.NullMarked;
