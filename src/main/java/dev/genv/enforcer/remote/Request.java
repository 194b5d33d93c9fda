package dev.genv.enforcer.remote;

import java.time.Duration;

/**
 * A command for a host.
 *
 * @param command as the shell there reads it
 * @param input what it gets on standard input, in UTF-8, which then ends
 * @param timeout from its start to its end
 * @param mostOutput how many bytes of its output are taken; with one more it is broken off
 */
public record Request(String command, String input, Duration timeout, int mostOutput) {}
