/** Messages to users by mail. */
@NullMarked
package dev.genv.enforcer.notification.mail;

import org.jspecify.annotations.NullMarked;
