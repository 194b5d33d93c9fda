/** The HTTP API: resources and their queries. */
@NullMarked
package dev.genv.enforcer.api;

import org.jspecify.annotations.NullMarked;
