package dev.genv.enforcer.facts.host;

/**
 * What {@code genv usage snapshot} (genv 1.4.3) printed on a machine before it exited with 0. genv reports much less than
 * {@link HostFacts}: no start times, users and programs of processes, no accounts, and nothing about the machine itself.
 *
 * @param output its standard output, one char for each byte (ISO-8859-1); login scripts may have printed something before it
 * @param errors the beginning of its standard error, likewise
 */
public record GenvFacts(String output, String errors) implements Facts {}
