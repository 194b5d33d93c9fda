/** The segments of the journal: files in a folder that no other user can write. */
@NullMarked
package dev.genv.enforcer.journal.segment;

import org.jspecify.annotations.NullMarked;
