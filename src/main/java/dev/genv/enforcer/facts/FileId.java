package dev.genv.enforcer.facts;

/**
 * The identity of a file.
 *
 * @param device as in {@code st_dev}, in the form of the machine
 */
public record FileId(long device, long inode) {}
