/** The safeguards, each with one reason to hold back an action that the rules ask for. */
@NullMarked
package dev.genv.enforcer.enforcement.safeguard;

import org.jspecify.annotations.NullMarked;
