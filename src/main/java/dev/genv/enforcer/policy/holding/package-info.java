/** The devices that users hold, and which of them a user loses first. */
@NullMarked
package dev.genv.enforcer.policy.holding;

import org.jspecify.annotations.NullMarked;
