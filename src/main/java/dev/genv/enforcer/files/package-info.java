/** Reads files whose paths users may change. */
@NullMarked
package dev.genv.enforcer.files;

import org.jspecify.annotations.NullMarked;
