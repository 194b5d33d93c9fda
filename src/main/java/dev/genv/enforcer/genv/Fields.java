package dev.genv.enforcer.genv;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The fields of one JSON object. Each must have the type that genv writes. */
public final class Fields {
    private static final long LARGEST_UID = 0xFFFF_FFFFL;
    /** Every violation keeps these texts, so their length is limited. */
    static final int LONGEST_TEXT = 4096;

    private final JsonNode object;

    public Fields(JsonNode object) throws UnreadableException {
        if (!object.isObject()) {
            throw new UnreadableException("is not an object");
        }
        this.object = object;
    }

    public String id(String name) throws UnreadableException {
        var node = object.path(name);
        if (!node.isTextual() || node.textValue().isEmpty()) {
            throw new UnreadableException("has no " + name);
        }
        return bounded(name, node.textValue());
    }

    @Nullable
    public String textOrNull(String name) throws UnreadableException {
        if (isAbsent(name)) {
            return null;
        }
        var node = object.path(name);
        if (!node.isTextual()) {
            throw new UnreadableException("has a " + name + " that is not text");
        }
        return bounded(name, node.textValue());
    }

    private static String bounded(String name, String text) throws UnreadableException {
        if (text.length() > LONGEST_TEXT) {
            throw new UnreadableException("has a " + name + " longer than " + LONGEST_TEXT + " characters");
        }
        return text;
    }

    public int index(String name) throws UnreadableException {
        return (int) number(name, 0, Integer.MAX_VALUE, "has an " + name + " that is not a number from 0");
    }

    public long uid(String name) throws UnreadableException {
        return number(name, 0, LARGEST_UID, "has a " + name + " that is not a user's number");
    }

    @Nullable
    public Integer countOrNull(String name) throws UnreadableException {
        var why = "has a " + name + " that is not a whole number";
        return isAbsent(name) ? null : (int) number(name, Integer.MIN_VALUE, Integer.MAX_VALUE, why);
    }

    private long number(String name, long smallest, long largest, String why) throws UnreadableException {
        var node = object.path(name);
        if (!node.isIntegralNumber()
                || !node.canConvertToLong()
                || node.longValue() < smallest
                || node.longValue() > largest) {
            throw new UnreadableException(why);
        }
        return node.longValue();
    }

    private boolean isAbsent(String name) {
        return object.path(name).isNull() || object.path(name).isMissingNode();
    }

    /** Returns an array; empty if absent, because older versions of genv did not write it. */
    public List<JsonNode> arrayOrNone(String name) throws UnreadableException {
        return object.path(name).isMissingNode() ? List.of() : array(name);
    }

    public List<JsonNode> array(String name) throws UnreadableException {
        var node = object.path(name);
        if (!node.isArray()) {
            throw new UnreadableException("has no array of " + name);
        }
        return node.valueStream().toList();
    }

    public JsonNode child(String name) {
        return object.path(name);
    }
}
