package dev.genv.enforcer.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** A table of what a suite has measured. It is written under {@code target}, and the README must show the same. */
final class Table {
    private final String name;
    private final List<String> lines = new ArrayList<>();

    Table(String name, String... columns) {
        this.name = name;
        row(columns);
        lines.add("| --- ".repeat(columns.length) + "|");
    }

    void row(String... cells) {
        lines.add("| " + String.join(" | ", cells) + " |");
    }

    /** A row for each outcome, of which there are at least so many; written, and compared with the README. */
    <T> void tells(List<T> outcomes, Function<T, String[]> cells, int least) throws IOException {
        outcomes.forEach(outcome -> row(cells.apply(outcome)));
        write();
        assertThat(outcomes).hasSizeGreaterThanOrEqualTo(least);
        assertThatTheReadmeHasIt();
    }

    void write() throws IOException {
        Files.writeString(file(), text());
    }

    void assertThatTheReadmeHasIt() throws IOException {
        var readme = Files.readString(Path.of("README.md"));
        var begin = "<!-- %s -->\n".formatted(name);
        var end = "<!-- /%s -->".formatted(name);
        assertThat(readme).contains(begin, end);
        assertThat(readme.substring(readme.indexOf(begin) + begin.length(), readme.indexOf(end)))
                .as("copy %s into the README, between the two markers", file())
                .isEqualTo(text());
    }

    private Path file() {
        return Path.of("target", name + ".md");
    }

    private String text() {
        return String.join("\n", lines) + "\n";
    }
}
