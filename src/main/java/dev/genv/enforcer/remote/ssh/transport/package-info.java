/** SSH connections and the commands that run over them, with limits of time and size. */
@NullMarked
package dev.genv.enforcer.remote.ssh.transport;

import org.jspecify.annotations.NullMarked;
