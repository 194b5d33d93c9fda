/** The observed machines as immutable records, without I/O. */
@NullMarked
package dev.genv.enforcer.model;

import org.jspecify.annotations.NullMarked;
