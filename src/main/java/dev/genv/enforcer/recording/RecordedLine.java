package dev.genv.enforcer.recording;

/**
 * A record of the observations.
 *
 * @param json an object in ASCII
 */
public record RecordedLine(RecordType type, String json) {}
