/** Which processes hold the device files of the NVIDIA driver. */
@NullMarked
package dev.genv.enforcer.node.device;

import org.jspecify.annotations.NullMarked;
