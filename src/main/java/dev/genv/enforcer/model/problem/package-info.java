/** The problems that the service reports, with their texts and consequences. */
@NullMarked
package dev.genv.enforcer.model.problem;

import org.jspecify.annotations.NullMarked;
