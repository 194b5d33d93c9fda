/** How many connections there may be at a port, and how long one of them may take to send a request. */
@NullMarked
package dev.genv.enforcer.api.connection;

import org.jspecify.annotations.NullMarked;
