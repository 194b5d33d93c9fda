package dev.genv.enforcer.remote.agent;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import dev.genv.enforcer.remote.agent.AgentCommand.AgentProgram;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Runs a program on this machine for each request, as a login of root would. */
final class LocalPython implements Machine.Answering, Connection {
    private final List<String> prefix;
    private final List<ProgramRequest> requests = new ArrayList<>();
    private @Nullable AnswerTransformer transformer;

    /**
     * Skips the test if Python is not installed.
     *
     * @param prefix a program that runs the command, with its arguments
     */
    LocalPython(String... prefix) {
        this.prefix = List.of(prefix);
        Requirements.program(AgentProgram.PYTHON, "python3");
        if (prefix.length > 0) {
            Requirements.program("/usr/bin/" + prefix[0], "util-linux");
        }
    }

    /** Changes an answer on its way back. */
    interface AnswerTransformer {
        CommandResult transform(CommandResult answer);
    }

    LocalPython transformAnswers(AnswerTransformer other) {
        transformer = other;
        return this;
    }

    List<ProgramRequest> requests() {
        return requests;
    }

    /** Each request has a program of its own, which ends with its input. */
    @Override
    public void stop() {}

    @Override
    public void close() {}

    @Override
    public CommandResult request(ProgramRequest request) throws InterruptedException {
        requests.add(request);
        try {
            var program = new ArrayList<>(prefix);
            program.addAll(List.of("sh", "-c", "exec " + request.command()));
            var output = Files.createTempFile("python", "output");
            var errors = Files.createTempFile("python", "errors");
            var process = new ProcessBuilder(program)
                    .redirectOutput(output.toFile())
                    .redirectError(errors.toFile())
                    .start();
            try (var input = process.getOutputStream()) {
                input.write((request.program() + request.line()).getBytes(UTF_8));
            }
            var ended = process.waitFor(request.timeout().toMillis(), TimeUnit.MILLISECONDS);
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor();
            var answer = new CommandResult(
                    Files.readString(output, ISO_8859_1),
                    Files.readString(errors, ISO_8859_1),
                    ended ? process.exitValue() : null,
                    ended ? null : new CommandResult.Interruption(ProblemCode.TIMEOUT, "it took too long"));
            Files.delete(output);
            Files.delete(errors);
            return transformer == null ? answer : transformer.transform(answer);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
