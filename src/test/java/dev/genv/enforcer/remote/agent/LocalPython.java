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
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Runs a program on this machine for each request, as a login of root would. */
final class LocalPython implements Machine.Answering, Connection {
    private final List<String> prefix;
    private final List<ProgramRequest> requests = new ArrayList<>();
    private @Nullable AnswerTransformer transformer;
    private @Nullable Program kept;

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

    @Override
    public void stop() {
        if (kept != null) {
            kept.close();
            kept = null;
        }
    }

    @Override
    public void close() {
        stop();
    }

    @Override
    public CommandResult request(ProgramRequest request) throws InterruptedException {
        requests.add(request);
        try {
            var program = kept == null ? new Program(request) : kept;
            kept = null;
            var start = program.printed().length();
            program.write(request.line());
            var isExamination = request.line().contains("\"do\":\"examine\"");
            var answer = program.await(request, start, isExamination);
            if (isExamination && answer.exitCode() == null && answer.interruption() == null) {
                kept = program; // it keeps the handles
            } else {
                program.close();
            }
            return transformer == null ? answer : transformer.transform(answer);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A running program. */
    private final class Program {
        private final Path output = Files.createTempFile("python", "output");
        private final Path errors = Files.createTempFile("python", "errors");
        private final Process process;

        Program(ProgramRequest request) throws IOException {
            var command = new ArrayList<>(prefix);
            command.addAll(List.of("sh", "-c", "exec " + request.command()));
            process = new ProcessBuilder(command)
                    .redirectOutput(output.toFile())
                    .redirectError(errors.toFile())
                    .start();
            Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
            write(request.program());
        }

        void write(String text) throws IOException {
            process.getOutputStream().write(text.getBytes(UTF_8));
            process.getOutputStream().flush();
        }

        String printed() throws IOException {
            return Files.readString(output, ISO_8859_1);
        }

        /** Waits for the answer or, unless the program goes on running, for its end. */
        CommandResult await(ProgramRequest request, int start, boolean goesOn)
                throws IOException, InterruptedException {
            if (!goesOn) {
                process.getOutputStream().close();
            }
            var deadline = System.nanoTime() + request.timeout().toNanos();
            while (!process.waitFor(2, TimeUnit.MILLISECONDS) && System.nanoTime() - deadline < 0) {
                if (goesOn && printed().substring(start).matches("(?s).*" + request.mark() + "\\{[^\n]*\n")) {
                    return new CommandResult(printed().substring(start), "", null, null);
                }
            }
            var ended = !process.isAlive();
            return new CommandResult(
                    printed().substring(start),
                    Files.readString(errors, ISO_8859_1),
                    ended ? process.exitValue() : null,
                    ended ? null : new CommandResult.Interruption(ProblemCode.TIMEOUT, "it took too long"));
        }

        void close() {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().onExit().join();
            try {
                Files.delete(output);
                Files.delete(errors);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
