/** What a machine answered about itself: raw data without interpretation. Every source of facts delivers these records. */
@NullMarked
package dev.genv.enforcer.facts;

import org.jspecify.annotations.NullMarked;
