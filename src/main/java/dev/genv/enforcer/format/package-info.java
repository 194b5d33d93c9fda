/** Parses and writes genv's JSON and files of Linux, without I/O. */
@NullMarked
package dev.genv.enforcer.format;

import org.jspecify.annotations.NullMarked;
