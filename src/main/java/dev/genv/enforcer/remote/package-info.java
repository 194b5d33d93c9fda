/** Other machines as hosts: which there are, and what any way to them and any agent on them must keep to. */
@NullMarked
package dev.genv.enforcer.remote;

import org.jspecify.annotations.NullMarked;
