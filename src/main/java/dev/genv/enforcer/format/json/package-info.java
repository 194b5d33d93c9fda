/** Parses and writes JSON as genv does, within limits of memory. */
@NullMarked
package dev.genv.enforcer.format.json;

import org.jspecify.annotations.NullMarked;
