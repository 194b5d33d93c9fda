package dev.genv.enforcer.enforcement;

import java.time.Instant;

/**
 * Something in genv's state that was otherwise before, and not through us: somebody edited it, while a process relied on it.
 *
 * @param at when it was first seen to be otherwise
 */
public record Change(String before, String after, Instant at) {}
