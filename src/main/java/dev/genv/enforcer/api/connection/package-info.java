/** Limits of connections: their number on each port, and the time to send a request. */
@NullMarked
package dev.genv.enforcer.api.connection;

import org.jspecify.annotations.NullMarked;
