/** What a machine answered as a whole. genv itself delivers {@link dev.genv.enforcer.facts.host.GenvFacts}, every other source {@link
 * dev.genv.enforcer.facts.host.HostFacts}. */
@NullMarked
package dev.genv.enforcer.facts.host;

import org.jspecify.annotations.NullMarked;
