/** {@code POST /plan}: reads the request within memory limits, and returns the plan. */
@NullMarked
package dev.genv.enforcer.api.plan;

import org.jspecify.annotations.NullMarked;
