/** Access control of the HTTP API: bearer token and host names. */
@NullMarked
package dev.genv.enforcer.api.security;

import org.jspecify.annotations.NullMarked;
