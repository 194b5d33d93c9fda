/** Events of violations for one receiver on the web, in their order. */
@NullMarked
package dev.genv.enforcer.notification.webhook;

import org.jspecify.annotations.NullMarked;
