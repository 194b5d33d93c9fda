/** The description of the HTTP API. Its filters run while the service is built. */
@NullMarked
package dev.genv.enforcer.api.openapi;

import org.jspecify.annotations.NullMarked;
