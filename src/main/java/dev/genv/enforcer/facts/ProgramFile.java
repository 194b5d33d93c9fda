package dev.genv.enforcer.facts;

/**
 * The file of a protected program, after all links. It is trusted: only root can replace it.
 *
 * @param name the last element of its path
 * @param links the number of hard links
 */
public record ProgramFile(FileId id, String name, long links) {}
