/** The port to the journal: what is written before and after actions and at the end of each cycle, and what a later run gets back. */
@NullMarked
package dev.genv.enforcer.enforcement.journal;

import org.jspecify.annotations.NullMarked;
