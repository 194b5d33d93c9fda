/** What is worth a message, whom it concerns, and what the message says. Pure functions of the events. */
@NullMarked
package dev.genv.enforcer.notification.notice;

import org.jspecify.annotations.NullMarked;
