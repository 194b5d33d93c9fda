package dev.genv.enforcer.enforcement.saved;

/**
 * A kind of entries that are saved. Keys and values are records without references to mutable objects. A value changes only with what
 * it describes: it contains no time that grows from cycle to cycle, so that only real changes are written.
 *
 * @param name stays the same in all versions
 */
public record SavedKind<K extends Record, V extends Record>(String name, Class<K> keyType, Class<V> valueType) {}
