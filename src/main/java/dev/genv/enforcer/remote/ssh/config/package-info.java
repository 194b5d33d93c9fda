/** Where each machine is reached: settings, OpenSSH configuration, hops. */
@NullMarked
package dev.genv.enforcer.remote.ssh.config;

import org.jspecify.annotations.NullMarked;
