package dev.genv.enforcer.testsupport.linux;

import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** The clocks of a program that runs with libfaketime, which reads them once a second from a file. */
public final class FakeClock {
    private final Path file;
    private final Path library;

    /** Skips the test if there is no such library. */
    public FakeClock(Path folder) throws IOException {
        file = folder.resolve("time");
        library = library();
    }

    /** Sets the time at which the program started. The time since then passes at this speed. */
    public void set(String start, int speed) throws IOException {
        Files.writeString(file, "@%s x%d\n".formatted(start, speed));
    }

    /** Returns the variables of a program, in which this sets all clocks. */
    public Map<String, String> variables() {
        return Map.of(
                "LD_PRELOAD",
                library.toString(),
                "FAKETIME_TIMESTAMP_FILE",
                file.toString(),
                "FAKETIME_CACHE_DURATION",
                "1",
                "TZ",
                "UTC");
    }

    /** Returns the variables of a program whose monotonic clock is the real one. */
    public Map<String, String> variablesOfWallClock() {
        var all = new HashMap<>(variables());
        all.put("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        return all;
    }

    private static Path library() throws IOException {
        try (var libraries = Files.newDirectoryStream(Path.of("/usr/lib"), "*-linux-gnu*")) {
            for (var folder : libraries) {
                var library = folder.resolve("faketime/libfaketimeMT.so.1");
                if (Files.exists(library)) {
                    return library;
                }
            }
        }
        Requirements.require(false, "libfaketime", "apt install libfaketime");
        throw new IllegalStateException();
    }
}
