/** The agent that is sent to a machine as a Python program with each request, and its answers. */
@NullMarked
package dev.genv.enforcer.remote.agent;

import org.jspecify.annotations.NullMarked;
