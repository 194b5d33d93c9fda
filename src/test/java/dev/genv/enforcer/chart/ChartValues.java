package dev.genv.enforcer.chart;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.regex.Pattern;

/** The values of the chart with their comments in {@code values.yaml}. */
final class ChartValues {
    static final Path FILE = RenderedChart.CHART.resolve("values.yaml");
    private static final Pattern DESCRIPTION = Pattern.compile("\\s*# -- (.*)");
    private static final Pattern CONTINUATION = Pattern.compile("\\s*# (.*)");
    private static final Pattern KEY = Pattern.compile("( *)([A-Za-z]+):.*");

    private final JsonNode defaults;
    private final List<Value> values = new ArrayList<>();
    private final List<String> sections = new ArrayList<>();
    private final Deque<Level> levels = new ArrayDeque<>();

    /** One value.
     *
     * @param path such as {@code settings.mode}
     */
    record Value(String path, JsonNode defaultValue, String description) {
        /** The same as a JSON pointer. */
        String pointer() {
            return "/" + path.replace('.', '/');
        }
    }

    private record Level(int indent, String path, boolean isValue) {}

    private ChartValues(String text) {
        defaults = RenderedChart.parse(text);
        var description = new StringBuilder();
        for (var line : text.split("\n", -1)) {
            var begins = DESCRIPTION.matcher(line);
            var goesOn = CONTINUATION.matcher(line);
            var key = KEY.matcher(line);
            if (begins.matches()) {
                description.append(begins.group(1));
            } else if (goesOn.matches() && !description.isEmpty()) {
                description.append(' ').append(goesOn.group(1));
            } else if (key.matches()) {
                add(key.group(1).length(), key.group(2), description.toString());
                description.setLength(0);
            }
        }
    }

    /** The values of the chart. */
    static ChartValues read() throws IOException {
        return new ChartValues(Files.readString(FILE));
    }

    private void add(int indent, String key, String description) {
        while (!levels.isEmpty() && levels.peek().indent() >= indent) {
            levels.pop();
        }
        if (!levels.isEmpty() && levels.peek().isValue()) {
            return; // a part of that value
        }
        var path = levels.isEmpty() ? key : levels.peek().path() + "." + key;
        levels.push(new Level(indent, path, !description.isEmpty()));
        if (description.isEmpty()) {
            sections.add(path);
        } else {
            values.add(new Value(path, defaults.at("/" + path.replace('.', '/')), description));
        }
    }

    /** All values, in the order of the file. */
    List<Value> all() {
        return List.copyOf(values);
    }

    /** The sections, which contain values. */
    List<String> sections() {
        return List.copyOf(sections);
    }

    JsonNode defaults() {
        return defaults;
    }
}
