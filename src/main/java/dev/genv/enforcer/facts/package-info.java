/** What a machine answered about its parts: raw data without interpretation. */
@NullMarked
package dev.genv.enforcer.facts;

import org.jspecify.annotations.NullMarked;
