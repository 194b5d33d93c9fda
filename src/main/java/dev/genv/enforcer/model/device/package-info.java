/** GPUs, their memory, and the environments that they are attached to. */
@NullMarked
package dev.genv.enforcer.model.device;

import org.jspecify.annotations.NullMarked;
