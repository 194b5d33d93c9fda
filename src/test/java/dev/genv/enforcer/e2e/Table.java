package dev.genv.enforcer.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** A table of a suite's results. It is written under {@code target}, and a page of the documents must contain it. */
public final class Table {
    private static final Path PAGES = Path.of("src/site/markdown");

    private final Path page;
    private final String name;
    private final List<String> lines = new ArrayList<>();

    /**
     * An empty table.
     *
     * @param page the file of the documents that holds it, such as {@code faults.md}
     * @param name the markers in the page between which it lies
     */
    public Table(String page, String name, String... columns) {
        this.page = PAGES.resolve(page);
        this.name = name;
        addRow(columns);
        lines.add("| --- ".repeat(columns.length) + "|");
    }

    private void addRow(String... cells) {
        lines.add("| " + String.join(" | ", cells) + " |");
    }

    /** Adds a row for each outcome, writes the table and compares it with its page. */
    public <T> void writeAndCheck(List<T> outcomes, Function<T, String[]> cells) throws IOException {
        outcomes.forEach(outcome -> addRow(cells.apply(outcome)));
        Files.writeString(file(), text());
        var text = Files.readString(page);
        var begin = "<!-- %s -->\n".formatted(name);
        var end = "<!-- /%s -->".formatted(name);
        assertThat(text).contains(begin, end);
        assertThat(text.substring(text.indexOf(begin) + begin.length(), text.indexOf(end)))
                .as("copy %s into %s, between the two markers", file(), page)
                .isEqualTo(text());
    }

    private Path file() {
        return Path.of("target", name + ".md");
    }

    private String text() {
        return String.join("\n", lines) + "\n";
    }
}
