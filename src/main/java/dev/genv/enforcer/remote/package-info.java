/** Machines that are reached over the network: the host list, and the interfaces of connections. */
@NullMarked
package dev.genv.enforcer.remote;

import org.jspecify.annotations.NullMarked;
