/** Observes each host and acts on it, on one thread for each host and within a time limit. */
@NullMarked
package dev.genv.enforcer.enforcement.host;

import org.jspecify.annotations.NullMarked;
