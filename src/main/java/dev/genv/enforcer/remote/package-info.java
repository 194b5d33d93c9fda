/** Other machines as hosts, over SSH: connections that are kept, and agents that say on them what to do. */
@NullMarked
package dev.genv.enforcer.remote;

import org.jspecify.annotations.NullMarked;
