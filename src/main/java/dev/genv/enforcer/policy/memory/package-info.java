/** The memory that environments use, and which processes are terminated if it exceeds the capacity. */
@NullMarked
package dev.genv.enforcer.policy.memory;

import org.jspecify.annotations.NullMarked;
