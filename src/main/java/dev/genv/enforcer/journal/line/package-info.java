/** The lines of the journal: JSON records, each with a checksum. */
@NullMarked
package dev.genv.enforcer.journal.line;

import org.jspecify.annotations.NullMarked;
