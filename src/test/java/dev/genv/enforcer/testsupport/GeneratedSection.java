package dev.genv.enforcer.testsupport;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Text in the repository that tests generate and compare; {@code -Dchart.rewrite=true} writes it. */
public final class GeneratedSection {
    private static final String REWRITE = "chart.rewrite";

    private GeneratedSection() {}

    /** Compares the part of a file between two markers. */
    public static void assertSection(Path file, String name, String text) throws IOException {
        var begin = "<!-- %s -->\n".formatted(name);
        var end = "<!-- /%s -->".formatted(name);
        var whole = Files.readString(file);
        assertThat(whole).contains(begin, end);
        var before = whole.substring(0, whole.indexOf(begin) + begin.length());
        assertFile(file, before + text + whole.substring(whole.indexOf(end)));
    }

    /** Compares a whole file. */
    public static void assertFile(Path file, String expected) throws IOException {
        if (Boolean.getBoolean(REWRITE)) {
            Files.writeString(file, expected);
        }
        assertThat(Files.readString(file))
                .as("%s is stale: run this test with -D%s=true and review the change", file, REWRITE)
                .isEqualTo(expected);
    }
}
