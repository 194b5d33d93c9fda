/** The users of a machine, and the owner of an environment. */
@NullMarked
package dev.genv.enforcer.model.user;

import org.jspecify.annotations.NullMarked;
