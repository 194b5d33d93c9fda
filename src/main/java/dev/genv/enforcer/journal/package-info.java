/** The journal on disk: segments of JSON lines, each with a checksum. */
@NullMarked
package dev.genv.enforcer.journal;

import org.jspecify.annotations.NullMarked;
