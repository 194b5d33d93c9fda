/** SSH connections and the commands that run over them. */
@NullMarked
package dev.genv.enforcer.remote.ssh.transport;

import org.jspecify.annotations.NullMarked;
