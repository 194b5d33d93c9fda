/** {@code GET /report}: who held and used devices in a period, and which rules were violated. */
@NullMarked
package dev.genv.enforcer.api.report;

import org.jspecify.annotations.NullMarked;
