/** Reads files whose path others may change. */
@NullMarked
package dev.genv.enforcer.files;

import org.jspecify.annotations.NullMarked;
