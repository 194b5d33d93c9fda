package dev.genv.enforcer.remote.agent.python;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.remote.agent.AgentOutput;
import java.io.IOException;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The output of a run of {@link PythonMachine}.
 *
 * @param exitCode of Python
 * @param text everything that was printed, one char for each byte
 */
public record PythonOutput(int exitCode, String text, String errors) {
    private static final Pattern LINE = Pattern.compile("(?m)^@" + PythonMachine.NONCE + " (.*)\\n");
    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** The answer, whose checksum is valid. */
    public JsonNode answer() throws IOException {
        var last = lines().getLast();
        var json = last.substring(0, last.length() - " 01234567".length());
        if (!last.endsWith(" " + AgentOutput.checksum(json.getBytes(ISO_8859_1)))) {
            throw new IOException("the checksum is invalid");
        }
        return MAPPER.readTree(json);
    }

    /** The lines of the agent, without the nonce. */
    public List<String> lines() throws IOException {
        var lines = LINE.matcher(text)
                .results()
                .map(line -> line.group(1))
                .filter(line -> !line.equals("received"))
                .toList();
        if (lines.isEmpty()) {
            throw new IOException("there is no answer: " + errors);
        }
        return lines;
    }
}
