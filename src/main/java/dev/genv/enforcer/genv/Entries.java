package dev.genv.enforcer.genv;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The entries of a state file. */
final class Entries {
    /** A file may contain any number of invalid entries. */
    private static final int MAX_PROBLEMS = 100;

    private static final int LONGEST_NAME = 40;

    private Entries() {}

    static void report(List<Problem> problems, String entry, UnreadableException why) {
        report(problems, entry, String.valueOf(why.getMessage()));
    }

    /** Adds a problem up to a limit; at the limit, adds that there are more. */
    static void report(List<Problem> problems, String entry, String why) {
        if (problems.size() <= MAX_PROBLEMS) {
            var detail = problems.size() < MAX_PROBLEMS ? entry + " " + why : "and more entries like these";
            problems.add(new Problem(ProblemCode.ENTRY_UNREADABLE, detail));
        }
    }

    /** Returns the entries of {@code {"name": […]}}. */
    static List<JsonNode> of(JsonNode root, String name) throws UnreadableException {
        var collection = root.path(name);
        if (collection.isObject()) {
            throw new UnreadableException("has the form before genv 0.9.0");
        }
        if (!collection.isArray()) {
            throw new UnreadableException("has no \"" + name + "\"");
        }
        return collection.valueStream().toList();
    }

    /** Returns one value for each id, in the order of the ids: values with the same id are merged, and the id is reported. */
    static <K, V> List<V> mergeSame(
            Stream<V> values, Function<V, K> id, Function<List<V>, V> merge, Consumer<K> reportSame) {
        var byId = values.collect(Collectors.groupingBy(id, LinkedHashMap::new, Collectors.toList()));
        byId.forEach((same, all) -> {
            if (all.size() > 1) {
                reportSame.accept(same);
            }
        });
        return byId.values().stream()
                .map(same -> same.size() > 1 ? merge.apply(same) : same.getFirst())
                .toList();
    }

    static List<Problem> both(List<Problem> problems, List<Problem> others) {
        return Stream.concat(problems.stream(), others.stream()).distinct().toList();
    }

    /** Returns a short name for an entry without a readable one. */
    static String name(JsonNode id) {
        var text = id.asText("?");
        return text.length() > LONGEST_NAME ? text.substring(0, LONGEST_NAME) + "…" : text;
    }

    /**
     * Reads the fields of one entry separately: an invalid field is reported, and the others count. Otherwise a user could drop an
     * entry by making one field invalid.
     *
     * @param entry the name of the entry in problems
     */
    record OptionalFields(String entry, List<Problem> problems) {
        /** Returns the value of the field; null if it is invalid. */
        <T> @Nullable T read(Reading<T> reading) {
            try {
                return reading.read();
            } catch (UnreadableException e) {
                report(String.valueOf(e.getMessage()));
                return null;
            }
        }

        /** Returns the valid values of an array; none if it is invalid as a whole. A value is null if it is invalid. */
        <T> List<T> readEach(Reading<List<JsonNode>> array, Function<JsonNode, @Nullable T> value, String why) {
            var nodes = read(array);
            if (nodes == null) {
                return List.of();
            }
            var values = nodes.stream()
                    .flatMap(node -> Stream.ofNullable(value.apply(node)))
                    .toList();
            if (values.size() < nodes.size()) {
                report(why);
            }
            return values;
        }

        void report(String why) {
            Entries.report(problems, entry, why);
        }

        interface Reading<T> {
            @Nullable
            T read() throws UnreadableException;
        }
    }

    /** The fields of one JSON object. Each must have the type that genv writes. */
    static final class Fields {
        private static final long LARGEST_UID = 0xFFFF_FFFFL;
        /** Every violation keeps these texts, so their length is limited. */
        static final int LONGEST_TEXT = 4096;

        private final JsonNode object;

        Fields(JsonNode object) throws UnreadableException {
            if (!object.isObject()) {
                throw new UnreadableException("is not an object");
            }
            this.object = object;
        }

        String id(String name) throws UnreadableException {
            var node = object.path(name);
            if (!node.isTextual() || node.textValue().isEmpty()) {
                throw new UnreadableException("has no " + name);
            }
            return bounded(name, node.textValue());
        }

        @Nullable
        String textOrNull(String name) throws UnreadableException {
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

        int index(String name) throws UnreadableException {
            return (int) number(name, 0, Integer.MAX_VALUE, "has an " + name + " that is not a number from 0");
        }

        long uid(String name) throws UnreadableException {
            return number(name, 0, LARGEST_UID, "has a " + name + " that is not a user's number");
        }

        @Nullable
        Integer countOrNull(String name) throws UnreadableException {
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
        List<JsonNode> arrayOrNone(String name) throws UnreadableException {
            return object.path(name).isMissingNode() ? List.of() : array(name);
        }

        List<JsonNode> array(String name) throws UnreadableException {
            var node = object.path(name);
            if (!node.isArray()) {
                throw new UnreadableException("has no array of " + name);
            }
            return node.valueStream().toList();
        }

        JsonNode child(String name) {
            return object.path(name);
        }
    }
}
