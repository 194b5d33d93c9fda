package dev.genv.enforcer.remote.ssh;

import java.time.Duration;

/**
 * A command to run on a machine.
 *
 * @param command the command line for the shell of the login
 * @param input the first line of the standard input, in UTF-8
 * @param timeout the time limit of the command
 * @param maxOutput the number of bytes of output that are accepted; one more aborts the command
 */
public record CommandRequest(String command, String input, Duration timeout, int maxOutput) {}
