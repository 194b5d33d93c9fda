/** The query parameters of requests. */
@NullMarked
package dev.genv.enforcer.api.query;

import org.jspecify.annotations.NullMarked;
