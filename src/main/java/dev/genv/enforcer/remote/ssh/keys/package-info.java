/** Private keys of the service and known keys of the machines. */
@NullMarked
package dev.genv.enforcer.remote.ssh.keys;

import org.jspecify.annotations.NullMarked;
