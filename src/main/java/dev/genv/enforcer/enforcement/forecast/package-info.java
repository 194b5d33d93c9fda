/** The actions that follow on violations if nothing changes. */
@NullMarked
package dev.genv.enforcer.enforcement.forecast;

import org.jspecify.annotations.NullMarked;
