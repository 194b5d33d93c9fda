package dev.genv.enforcer.genv;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Writes JSON as a stream: a tree of a large state would need many times the memory of the state. */
record JsonStream(JsonGenerator out) {
    /** Writes the fields of an object. */
    interface Fields<T> {
        void write(T value) throws IOException;
    }

    /** Writes an object; null without a value. */
    <T> void object(String name, @Nullable T value, Fields<T> fields) throws IOException {
        if (value == null) {
            out.writeNullField(name);
        } else {
            out.writeObjectFieldStart(name);
            fields.write(value);
            out.writeEndObject();
        }
    }

    <T> void objects(String name, Iterable<T> values, Fields<T> fields) throws IOException {
        out.writeArrayFieldStart(name);
        for (var value : values) {
            out.writeStartObject();
            fields.write(value);
            out.writeEndObject();
        }
        out.writeEndArray();
    }

    void number(String name, @Nullable Number value) throws IOException {
        if (value == null) {
            out.writeNullField(name);
        } else {
            out.writeNumberField(name, value.longValue());
        }
    }

    void numbers(String name, Iterable<Integer> values) throws IOException {
        out.writeArrayFieldStart(name);
        for (var value : values) {
            out.writeNumber(value);
        }
        out.writeEndArray();
    }

    void texts(String name, Iterable<String> values) throws IOException {
        out.writeArrayFieldStart(name);
        for (var value : values) {
            out.writeString(value);
        }
        out.writeEndArray();
    }
}
