/** genv's JSON, read into the model and written back in genv's own form. No files, no processes. */
@NullMarked
package dev.genv.enforcer.format;

import org.jspecify.annotations.NullMarked;
