/** Time limits of connections and commands, and pauses between attempts. */
@NullMarked
package dev.genv.enforcer.remote.ssh.transport.time;

import org.jspecify.annotations.NullMarked;
