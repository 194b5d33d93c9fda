/** What happened, in the order in which it happened: for readers who follow it, and for the journal. */
@NullMarked
package dev.genv.enforcer.enforcement.event;

import org.jspecify.annotations.NullMarked;
