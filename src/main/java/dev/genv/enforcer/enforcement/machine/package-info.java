/** A host whose adapter delivers facts and executes orders; an observer interprets the facts. */
@NullMarked
package dev.genv.enforcer.enforcement.machine;

import org.jspecify.annotations.NullMarked;
