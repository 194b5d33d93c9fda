package dev.genv.enforcer.enforcement;

import java.util.List;
import java.util.stream.Stream;

/** Lines of which there may be any number: users choose how many, and nobody's log may be flooded with them. */
final class LogLines {
    /** At once, of one kind. */
    static final int MOST = 100;

    private LogLines() {}

    /** The first of them, and where there are more, how many. */
    static List<String> bounded(List<String> all, String of) {
        return all.size() <= MOST
                ? all
                : Stream.concat(all.stream().limit(MOST), Stream.of("and %d more %s".formatted(all.size() - MOST, of)))
                        .toList();
    }
}
