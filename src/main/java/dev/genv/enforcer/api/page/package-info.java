/** The page at {@code /}: its files and the HTTP headers that protect it. */
@NullMarked
package dev.genv.enforcer.api.page;

import org.jspecify.annotations.NullMarked;
