/** What the service may do, and what it has done. */
@NullMarked
package dev.genv.enforcer.enforcement.action;

import org.jspecify.annotations.NullMarked;
