package dev.genv.enforcer.notification.mail;

import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.files.WatchedFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.jboss.logging.Logger;

/** A file with {@code name=address} or {@code uid=address} on each line, and {@code #} before comments. It is read again after a change. */
public final class AddressFile {
    private static final Logger LOG = Logger.getLogger(AddressFile.class);
    private static final int LARGEST = 4 << 20;
    private static final Pattern ENTRY = Pattern.compile("(?<user>[^=\\s]+)\\s*=\\s*(?<address>\\S+)");

    private final WatchedFile<Map<String, String>> file;
    private Map<String, String> latest = Map.of();
    private String lastProblem = "";

    /** Creates it without reading the file. */
    public AddressFile(Path path) {
        file = new WatchedFile<>(path, LARGEST, AddressFile::parse);
    }

    /**
     * Reads the file.
     *
     * @throws IOException if it cannot be read, or a line is invalid; the message has the number of the line
     */
    public Map<String, String> read() throws IOException {
        return file.current();
    }

    /** Returns the addresses by name or uid: those that were read last if the file is unusable now. */
    Map<String, String> addresses() {
        try {
            latest = read();
            lastProblem = "";
        } catch (IOException e) {
            var problem = Errno.textOf(e);
            if (!problem.equals(lastProblem)) {
                LOG.warnf("The file with mail addresses cannot be used, so its former content stays: %s", problem);
            }
            lastProblem = problem;
        }
        return latest;
    }

    private static Map<String, String> parse(byte[] bytes) throws IOException {
        var addresses = new HashMap<String, String>();
        var number = 0;
        for (var line : new String(bytes, StandardCharsets.UTF_8).lines().toList()) {
            number++;
            var text = line.replaceFirst("#.*", "").strip();
            if (text.isEmpty()) {
                continue;
            }
            var entry = ENTRY.matcher(text);
            if (!entry.matches() || !MailAddress.isValid(entry.group("address"))) {
                throw new IOException("line %d is not name=address".formatted(number));
            }
            addresses.put(entry.group("user"), entry.group("address"));
        }
        return Map.copyOf(addresses);
    }
}
