/** The way to other machines: a kept connection each, over which commands are run. */
@NullMarked
package dev.genv.enforcer.remote.ssh;

import org.jspecify.annotations.NullMarked;
