/** Looks and acts by genv itself, in the words in which genv speaks with itself on other machines. */
@NullMarked
package dev.genv.enforcer.remote.genv;

import org.jspecify.annotations.NullMarked;
