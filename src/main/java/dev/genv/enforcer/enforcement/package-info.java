/** The use case: collect what the machines look like, decide, act, remember. */
@NullMarked
package dev.genv.enforcer.enforcement;

import org.jspecify.annotations.NullMarked;
