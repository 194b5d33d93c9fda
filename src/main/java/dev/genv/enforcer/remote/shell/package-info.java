/** Looks and acts by a script that is handed to a machine's shell each time; its parts lie beside these classes. */
@NullMarked
package dev.genv.enforcer.remote.shell;

import org.jspecify.annotations.NullMarked;
