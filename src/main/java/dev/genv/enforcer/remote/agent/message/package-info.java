/** The JSON of requests to the agent and of its answers, which may come from a hostile machine. */
@NullMarked
package dev.genv.enforcer.remote.agent.message;

import org.jspecify.annotations.NullMarked;
