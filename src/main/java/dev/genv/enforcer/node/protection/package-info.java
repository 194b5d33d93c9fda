/** The files that tell which processes are immune: accounts and protected programs. */
@NullMarked
package dev.genv.enforcer.node.protection;

import org.jspecify.annotations.NullMarked;
