package dev.genv.enforcer.genv;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Where an array and its elements stand in a JSON text. The end of an element is that of its last token, so only that of an object or an
 * array is exact.
 *
 * @param inside what is between the brackets
 */
record ArraySpans(Span inside, List<Span> elements) {
    private static final ArraySpans NONE = new ArraySpans(new Span(0, 0), List.of());

    /** From the first character to the one after the last. */
    private record Span(int start, int end) {
        private static int start(JsonParser parser) {
            return (int) parser.currentTokenLocation().getCharOffset();
        }

        private static int end(JsonParser parser) {
            return (int) parser.currentLocation().getCharOffset();
        }
    }

    /** A text from which elements are cut, from front to back. */
    static final class Text {
        private final String text;
        private final StringBuilder rest = new StringBuilder();
        private int done;

        /** @param text that {@link GenvJson#read} accepts, an object */
        Text(String text) {
            this.text = text;
        }

        /** Returns the array with the inner name in each element of the array with the outer name. Of several fields the last one counts. */
        List<ArraySpans> arrays(String outer, String inner) {
            List<ArraySpans> arrays = List.of();
            try (var parser = GenvJson.parser(text)) {
                parser.nextToken();
                while (parser.nextToken() == JsonToken.FIELD_NAME) {
                    if (isArray(parser, outer)) {
                        arrays = new ArrayList<>();
                        while (parser.nextToken() != JsonToken.END_ARRAY) {
                            arrays.add(array(parser, inner));
                        }
                    }
                }
                return arrays;
            } catch (IOException e) {
                throw new IllegalStateException("a text that was read cannot be read again", e);
            }
        }

        private static ArraySpans array(JsonParser parser, String name) throws IOException {
            var array = NONE;
            if (parser.currentToken() != JsonToken.START_OBJECT) {
                parser.skipChildren();
                return array;
            }
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                if (isArray(parser, name)) {
                    var start = Span.end(parser);
                    var elements = new ArrayList<Span>();
                    while (parser.nextToken() != JsonToken.END_ARRAY) {
                        var first = Span.start(parser);
                        parser.skipChildren();
                        elements.add(new Span(first, Span.end(parser)));
                    }
                    array = new ArraySpans(new Span(start, Span.start(parser)), elements);
                }
            }
            return array;
        }

        /** Moves to the value of a field. Returns whether it is an array with this name; otherwise skips it. */
        private static boolean isArray(JsonParser parser, String name) throws IOException {
            var isNamed = name.equals(parser.currentName());
            if (parser.nextToken() == JsonToken.START_ARRAY && isNamed) {
                return true;
            }
            parser.skipChildren();
            return false;
        }

        /** Cuts objects or arrays from an array behind those of the earlier calls. */
        void cut(ArraySpans array, Set<Integer> which) {
            var elements = array.elements;
            var last = elements.size() - 1;
            while (which.contains(last)) {
                last--;
            }
            if (last < 0 && !elements.isEmpty()) {
                cut(array.inside.start, array.inside.end);
                return;
            }
            for (var i = 0; i < elements.size(); i++) {
                if (which.contains(i) && i < last) {
                    cut(elements.get(i).start, elements.get(i + 1).start);
                } else if (which.contains(i)) {
                    cut(text.lastIndexOf(',', elements.get(i).start), elements.get(i).end);
                }
            }
        }

        private void cut(int start, int end) {
            rest.append(text, done, start);
            done = end;
        }

        /** Returns what was not cut. */
        String rest() {
            return rest.append(text, done, text.length()).toString();
        }
    }
}
