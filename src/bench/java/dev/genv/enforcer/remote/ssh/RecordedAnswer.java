package dev.genv.enforcer.remote.ssh;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

/** A recorded answer of a machine, for other machines and other nonces. It is fast, because it is not measured. */
final class RecordedAnswer {
    private static final Pattern NONCE = Pattern.compile("\"nonce\":\"([0-9a-f-]+)\"");
    private static final Pattern ANSWER = Pattern.compile("(?m)^@[0-9a-f-]+ (.*) [0-9a-f]{8}$");

    private final String json;
    private final String machine;
    private final Map<String, String> lines = new ConcurrentHashMap<>();

    /**
     * Parses the output of an agent.
     *
     * @param machine the machine id in the answer
     */
    RecordedAnswer(String output, String machine) {
        var answer = ANSWER.matcher(output);
        if (!answer.find()) {
            throw new IllegalStateException("an output without an answer");
        }
        json = answer.group(1);
        this.machine = machine;
    }

    /** Returns the answer of a machine to a request. */
    String of(String other, String request) {
        var nonce = NONCE.matcher(request);
        if (!nonce.find()) {
            throw new IllegalStateException("a request without a nonce");
        }
        return "\n@%1$s received\n@%1$s".formatted(nonce.group(1)) + lines.computeIfAbsent(other, this::line);
    }

    private String line(String other) {
        var content = json.replace(machine, other);
        var checksum = new CRC32();
        checksum.update(content.getBytes(StandardCharsets.ISO_8859_1));
        return " %s %08x\n".formatted(content, checksum.getValue());
    }
}
