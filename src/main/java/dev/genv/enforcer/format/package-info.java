/** Parses and writes genv's files and snapshots, without I/O. */
@NullMarked
package dev.genv.enforcer.format;

import org.jspecify.annotations.NullMarked;
