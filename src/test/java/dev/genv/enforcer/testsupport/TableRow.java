package dev.genv.enforcer.testsupport;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** A row of a table in words: the name of a case, the lines that describe it, and as the last line what is expected. */
public record TableRow(String name, List<String> lines, String expected) {
    /** Returns the rows of tables in which an empty line separates two rows. */
    public static Stream<TableRow> in(String... tables) {
        return Arrays.stream(tables)
                .flatMap(table -> Arrays.stream(table.split("\n\n", -1)))
                .map(text -> text.lines().toList())
                .map(lines -> new TableRow(lines.getFirst(), lines.subList(1, lines.size() - 1), lines.getLast()));
    }

    @Override
    public String toString() {
        return name;
    }
}
