/** What a machine looks like: plain records without behaviour that reaches outside. */
@NullMarked
package dev.genv.enforcer.model;

import org.jspecify.annotations.NullMarked;
