/** Every error of the HTTP API, as problem+json. */
@NullMarked
package dev.genv.enforcer.api.error;

import org.jspecify.annotations.NullMarked;
