package dev.genv.enforcer.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.config.Journal.PriorityFormatter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jboss.logmanager.ExtLogRecord;
import org.jboss.logmanager.Level;
import org.jboss.logmanager.formatters.PatternFormatter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JournalTest {
    @TempDir
    Path folder;

    /** sd-daemon(3): 3 is an error, 4 a warning, 6 information, 7 for debugging. */
    @ParameterizedTest
    @CsvSource({"FATAL,<3>", "ERROR,<3>", "WARN,<4>", "INFO,<6>", "DEBUG,<7>", "TRACE,<7>"})
    void everyLineHasThePriorityOfItsRecord(String level, String prefix) {
        var formatter = new PriorityFormatter(new PatternFormatter("%-5p %s%e%n"));
        var line = new ExtLogRecord(Level.parse(level), "one\ntwo", "logger");
        line.setThrown(new IllegalStateException("cause"));
        assertThat(formatter.format(line).lines())
                .hasSizeGreaterThan(3)
                .allMatch(each -> each.startsWith(prefix))
                .contains(prefix + "two: java.lang.IllegalStateException: cause");
        assertThat(formatter.format(line)).endsWith("\n").doesNotEndWith("\n\n");
    }

    @Test
    void journalReadsTheStreamThatSystemdNames() throws IOException {
        var stream = Files.createFile(folder.resolve("stream"));
        var link = Files.createSymbolicLink(folder.resolve("fd"), stream);
        var status = Files.readAttributes(stream, "unix:dev,ino");
        var name = status.get("dev") + ":" + status.get("ino");
        assertThat(Journal.reads(link, Map.of("JOURNAL_STREAM", name))).isTrue();
        assertThat(Journal.reads(link, Map.of())).isFalse();
        for (var other : new String[] {"", ":", "8", name + "0", "1" + name}) {
            assertThat(Journal.reads(link, Map.of("JOURNAL_STREAM", other)))
                    .as(other)
                    .isFalse();
        }
        assertThat(Journal.reads(folder.resolve("closed"), Map.of("JOURNAL_STREAM", name)))
                .isFalse();
    }
}
