package dev.genv.enforcer.enforcement.report;

import java.util.List;
import java.util.stream.Stream;

/** Limits the number of log lines of one kind, because users influence how many there are. */
final class LogLines {
    /** The largest number of lines of one kind in one cycle. */
    static final int MAX_LINES = 100;

    private LogLines() {}

    /** Returns the first lines, and the number of the others. */
    static List<String> limit(List<String> all, String of) {
        return all.size() <= MAX_LINES
                ? all
                : Stream.concat(
                                all.stream().limit(MAX_LINES),
                                Stream.of("and %d more %s".formatted(all.size() - MAX_LINES, of)))
                        .toList();
    }
}
