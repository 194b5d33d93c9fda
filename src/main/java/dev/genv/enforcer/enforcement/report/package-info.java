/** What a cycle reports: its result, its lines in the log and on standard output, and its events. */
@NullMarked
package dev.genv.enforcer.enforcement.report;

import org.jspecify.annotations.NullMarked;
