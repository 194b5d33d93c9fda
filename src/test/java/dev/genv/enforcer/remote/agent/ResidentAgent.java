package dev.genv.enforcer.remote.agent;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.remote.agent.AgentCommand.AgentProgram;
import dev.genv.enforcer.remote.agent.python.PythonMachine;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A running agent. */
final class ResidentAgent implements AutoCloseable {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final String MARK = AgentOutput.mark(PythonMachine.NONCE);

    private final Process process;
    private final BufferedReader output;

    ResidentAgent(AgentProgram program) throws IOException {
        process = new ProcessBuilder("sh", "-c", "exec " + program.command())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        output = process.inputReader(ISO_8859_1);
        write(program.text());
    }

    Process process() {
        return process;
    }

    void write(String text) throws IOException {
        process.getOutputStream().write(text.getBytes(UTF_8));
        process.getOutputStream().flush();
    }

    /** Sends a request, or the rest of it, and returns the answer. */
    JsonNode answer(String line) throws IOException {
        write(line);
        for (var text = output.readLine(); text != null; text = output.readLine()) {
            if (text.startsWith(MARK + "{")) {
                return MAPPER.readTree(text.substring(MARK.length(), text.lastIndexOf(' ')));
            }
        }
        throw new IOException("it has ended");
    }

    void closeInput() throws IOException {
        process.getOutputStream().close();
    }

    void closeOutput() throws IOException {
        output.close();
    }

    int descriptors() throws IOException {
        try (var files = Files.list(file("fd"))) {
            return (int) files.count();
        }
    }

    long residentKiB() throws IOException {
        var line = Files.readString(file("status")).lines().filter(each -> each.startsWith("VmRSS:"));
        return Long.parseLong(line.findFirst().orElseThrow().replaceAll("\\D", ""));
    }

    /** A child that was killed last may exist for a moment, and then until the next request. */
    void awaitNoChildren() {
        var children = file("task").resolve(process.pid() + "/children");
        await().until(() -> Files.readString(children).split(" ", -1).length <= 2
                && process.descendants()
                        .noneMatch(child -> child.info().command().isPresent()));
    }

    private Path file(String name) {
        return Path.of("/proc", Long.toString(process.pid()), name);
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
