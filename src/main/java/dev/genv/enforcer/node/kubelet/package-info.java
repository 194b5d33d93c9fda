/** The files of the kubelet on a node of Kubernetes. */
@NullMarked
package dev.genv.enforcer.node.kubelet;

import org.jspecify.annotations.NullMarked;
