package dev.genv.enforcer.facts;

/**
 * The file of a program that only root can change.
 *
 * @param born its creation time, in nanoseconds, which no user can set; 0 if the file system does not record it. It differs for a later
 *     file with the same number.
 */
public record ProgramFile(FileId id, long born) {}
