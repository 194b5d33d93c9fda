package dev.genv.enforcer.remote.genv;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.util.Objects.requireNonNull;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.remote.CommandRequest;
import dev.genv.enforcer.remote.CommandResult;
import dev.genv.enforcer.remote.CommandRunner;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** Returns given results in order, and records the requests. */
final class ScriptedCommandRunner implements CommandRunner {
    private final Deque<Step> steps = new ArrayDeque<>();
    private final List<CommandRequest> requests = new ArrayList<>();

    /** Produces the result of a request. */
    interface Step {
        CommandResult run() throws UnreachableException, InterruptedException;
    }

    /** Returns a file of {@code genv-protocol}, with one char for each byte, as in results of commands. */
    static String recorded(String name) {
        try (var file = requireNonNull(ScriptedCommandRunner.class.getResourceAsStream("/genv-protocol/" + name))) {
            return new String(file.readAllBytes(), ISO_8859_1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    ScriptedCommandRunner thenReturn(String output) {
        return thenExit(0, output, "");
    }

    ScriptedCommandRunner thenExit(int exitCode, String output, String errors) {
        return then(() -> new CommandResult(output, errors, exitCode, null));
    }

    ScriptedCommandRunner thenInterrupt(ProblemCode code, String detail) {
        return then(() -> new CommandResult("", "", null, new CommandResult.Interruption(code, detail)));
    }

    ScriptedCommandRunner then(Step step) {
        steps.add(step);
        return this;
    }

    List<CommandRequest> requests() {
        return List.copyOf(requests);
    }

    void forgetRequests() {
        requests.clear();
    }

    boolean isFinished() {
        return steps.isEmpty();
    }

    @Override
    public CommandResult run(CommandRequest request) throws UnreachableException, InterruptedException {
        requests.add(request);
        return steps.remove().run();
    }
}
