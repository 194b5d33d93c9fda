/** What is known of one user. */
@NullMarked
package dev.genv.enforcer.api.user;

import org.jspecify.annotations.NullMarked;
