/** What is shown over HTTP: resources and health checks. */
@NullMarked
package dev.genv.enforcer.api;

import org.jspecify.annotations.NullMarked;
