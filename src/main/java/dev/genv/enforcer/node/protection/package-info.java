/** Which processes are immune: by their user, their program, or their kind. */
@NullMarked
package dev.genv.enforcer.node.protection;

import org.jspecify.annotations.NullMarked;
