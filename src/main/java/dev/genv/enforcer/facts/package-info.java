/** What a machine answered about itself: raw data without interpretation. genv itself delivers {@link
 * dev.genv.enforcer.facts.GenvFacts}, every other source {@link dev.genv.enforcer.facts.HostFacts}. */
@NullMarked
package dev.genv.enforcer.facts;

import org.jspecify.annotations.NullMarked;
