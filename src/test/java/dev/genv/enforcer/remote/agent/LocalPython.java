package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.agent.AgentCommand.AgentProgram;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Runs a program on this machine for each request, as a login of root would. */
final class LocalPython implements Connection {
    final List<ProgramRequest> requests = new ArrayList<>();
    private final List<String> prefix;
    private @Nullable PythonProcess kept;

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

    @Override
    public void stop() {
        try {
            if (kept != null) {
                kept.close();
                kept = null;
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
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
            if (kept == null) {
                var command = new ArrayList<>(prefix);
                command.addAll(List.of("sh", "-c", "exec " + request.command()));
                kept = new PythonProcess(command);
                kept.write(request.program());
            }
            var answer = kept.answer(request.line(), request.mark(), request.timeout());
            if (answer != null && request.line().contains("\"do\":\"examine\"")) {
                return new CommandResult(answer, "", null, null); // it keeps the handles
            }
            var hasEnded = kept.end(request.timeout());
            var result = new CommandResult(
                    kept.printed(),
                    kept.errors(),
                    hasEnded ? kept.process.exitValue() : null,
                    hasEnded ? null : new CommandResult.Interruption(ProblemCode.TIMEOUT, "it took too long"));
            stop();
            return result;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
