package dev.genv.enforcer.e2e.attack.shared;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** The log lines of the service about its actions. */
final class ActionLog {
    private static final Pattern PID = Pattern.compile(" pid=([0-9]+) ");

    private final Path path;
    private long checkedLength;

    ActionLog(Path path) {
        this.path = path;
    }

    /** Returns the lines about processes signalled and devices detached since the last call. */
    List<String> newActions() throws IOException {
        return newLines().stream()
                .filter(line -> line.contains("outcome=signalled") || line.contains("outcome=detached"))
                .toList();
    }

    /** Returns the pid in a line; 0 if there is none. */
    static int pid(String line) {
        var match = PID.matcher(line);
        return match.find() ? Integer.parseInt(match.group(1)) : 0;
    }

    private List<String> newLines() throws IOException {
        try (var file = new RandomAccessFile(path.toFile(), "r")) {
            file.seek(checkedLength);
            var bytes = new byte[Math.toIntExact(file.length() - checkedLength)];
            file.readFully(bytes);
            var text = new String(bytes, StandardCharsets.US_ASCII);
            var whole = text.substring(0, text.lastIndexOf('\n') + 1);
            checkedLength += whole.length();
            return whole.lines().toList();
        }
    }
}
