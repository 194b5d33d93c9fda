/** Messages about violations to the people concerned and to a webhook. */
@NullMarked
package dev.genv.enforcer.notification;

import org.jspecify.annotations.NullMarked;
