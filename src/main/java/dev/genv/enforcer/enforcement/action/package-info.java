/** What the service may do, what it is to do in a cycle, and what it has done. */
@NullMarked
package dev.genv.enforcer.enforcement.action;

import org.jspecify.annotations.NullMarked;
