/** The recorded observations of the hosts: written as changes while the service runs, and read again as a fleet for each cycle. */
@NullMarked
package dev.genv.enforcer.recording;

import org.jspecify.annotations.NullMarked;
