/** genv's state directory: its lock, its files, and detachments in them. */
@NullMarked
package dev.genv.enforcer.node.state;

import org.jspecify.annotations.NullMarked;
