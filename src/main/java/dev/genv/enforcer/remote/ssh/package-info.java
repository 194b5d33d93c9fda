/** SSH access to other machines: one persistent connection for each machine. */
@NullMarked
package dev.genv.enforcer.remote.ssh;

import org.jspecify.annotations.NullMarked;
