/** The sockets and pipes of SSH connections, with limits on what a server sends. */
@NullMarked
package dev.genv.enforcer.remote.ssh.transport.socket;

import org.jspecify.annotations.NullMarked;
