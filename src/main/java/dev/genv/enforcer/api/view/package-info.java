/** The JSON responses of the HTTP API. */
@NullMarked
package dev.genv.enforcer.api.view;

import org.jspecify.annotations.NullMarked;
