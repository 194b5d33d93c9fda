/** What is remembered from one cycle to the next about violations, and the evidence that a cycle has for its actions. */
@NullMarked
package dev.genv.enforcer.enforcement.history;

import org.jspecify.annotations.NullMarked;
