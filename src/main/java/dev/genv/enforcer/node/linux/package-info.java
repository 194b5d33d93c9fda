/** System calls that Java does not offer. */
@NullMarked
package dev.genv.enforcer.node.linux;

import org.jspecify.annotations.NullMarked;
