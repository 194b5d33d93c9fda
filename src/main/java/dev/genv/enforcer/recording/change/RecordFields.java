package dev.genv.enforcer.recording.change;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.genv.UnreadableException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The fields of an object of a record. A field of another type makes the record unreadable. */
public final class RecordFields {
    private final JsonNode object;

    /** Reads a value from an element of an array. */
    interface Reader<T> {
        T read(JsonNode json) throws UnreadableException;
    }

    public RecordFields(JsonNode object) throws UnreadableException {
        if (!object.isObject()) {
            throw new UnreadableException("is not an object");
        }
        this.object = object;
    }

    /** Returns the name of a constant in records. */
    static String label(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }

    static <E extends Enum<E>> E constant(Class<E> type, String label) throws UnreadableException {
        try {
            return Enum.valueOf(type, label.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new UnreadableException("has an unknown " + type.getSimpleName());
        }
    }

    static int integer(JsonNode node) throws UnreadableException {
        if (!node.isIntegralNumber() || !node.canConvertToInt()) {
            throw new UnreadableException("has no whole number where one is expected");
        }
        return node.intValue();
    }

    static long number(JsonNode node) throws UnreadableException {
        if (!node.isIntegralNumber() || !node.canConvertToLong()) {
            throw new UnreadableException("has no whole number where one is expected");
        }
        return node.longValue();
    }

    static String text(JsonNode node) throws UnreadableException {
        var text = textOrNull(node);
        if (text == null) {
            throw new UnreadableException("has no text where one is expected");
        }
        return text;
    }

    static @Nullable String textOrNull(JsonNode node) throws UnreadableException {
        if (node.isNull() || node.isMissingNode()) {
            return null;
        }
        if (!node.isTextual()) {
            throw new UnreadableException("has no text where one is expected");
        }
        return node.textValue();
    }

    public boolean has(String name) {
        return object.has(name);
    }

    public int integer(String name) throws UnreadableException {
        return integer(object.path(name));
    }

    public long number(String name) throws UnreadableException {
        return number(object.path(name));
    }

    public @Nullable Long longOrNull(String name) throws UnreadableException {
        return has(name) ? Long.valueOf(number(name)) : null;
    }

    public @Nullable String textOrNull(String name) throws UnreadableException {
        return textOrNull(object.path(name));
    }

    public String text(String name) throws UnreadableException {
        return text(object.path(name));
    }

    /** Whether a field is true; an absent field is false. */
    public boolean flag(String name) {
        return object.path(name).booleanValue();
    }

    /** Returns the elements of an array; none if it is absent. */
    <T> List<T> list(String name, Reader<T> reader) throws UnreadableException {
        var node = object.path(name);
        if (!node.isArray() && !node.isMissingNode()) {
            throw new UnreadableException("has no array of " + name);
        }
        var elements = new ArrayList<T>(node.size());
        for (var each : node) {
            elements.add(reader.read(each));
        }
        return elements;
    }

    <T> Set<T> set(String name, Reader<T> reader) throws UnreadableException {
        return new LinkedHashSet<>(list(name, reader));
    }
}
