/** Runs the cycle: observe the hosts, check the policy, carry out the actions, record the result. */
@NullMarked
package dev.genv.enforcer.enforcement;

import org.jspecify.annotations.NullMarked;
