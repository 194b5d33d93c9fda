/** Paths that a user must not be able to redirect, and mounts. */
@NullMarked
package dev.genv.enforcer.node.files;

import org.jspecify.annotations.NullMarked;
