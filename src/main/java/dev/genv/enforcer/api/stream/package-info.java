/** Events for clients that follow them, as server-sent events. */
@NullMarked
package dev.genv.enforcer.api.stream;

import org.jspecify.annotations.NullMarked;
