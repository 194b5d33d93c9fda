/** The journal on disk: what it writes, and how it is read after a restart. */
@NullMarked
package dev.genv.enforcer.journal;

import org.jspecify.annotations.NullMarked;
