/** genv's state: its files, their lock and directory, and the active environments. */
@NullMarked
package dev.genv.enforcer.observation.state;

import org.jspecify.annotations.NullMarked;
