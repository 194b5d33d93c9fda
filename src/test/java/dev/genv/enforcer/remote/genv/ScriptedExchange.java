package dev.genv.enforcer.remote.genv;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.util.Objects.requireNonNull;

import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Answer;
import dev.genv.enforcer.remote.Exchange;
import dev.genv.enforcer.remote.Request;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** Gives answers in their order, and keeps what was asked. */
final class ScriptedExchange implements Exchange {
    private final Deque<Step> steps = new ArrayDeque<>();
    private final List<Request> requests = new ArrayList<>();

    /** What happens when something is asked. */
    interface Step {
        Answer answer() throws UnreachableException, InterruptedException;
    }

    /** A file of {@code genv-protocol}, a char a byte, as an exchange gives it. */
    static String recorded(String name) {
        try (var file = requireNonNull(ScriptedExchange.class.getResourceAsStream("/genv-protocol/" + name))) {
            return new String(file.readAllBytes(), ISO_8859_1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    ScriptedExchange answers(String output) {
        return ends(0, output, "");
    }

    ScriptedExchange ends(int exitCode, String output, String errors) {
        return does(() -> new Answer(output, errors, exitCode, null));
    }

    ScriptedExchange breaks(ProblemCode code, String detail) {
        return does(() -> new Answer("", "", null, new Answer.Broken(code, detail)));
    }

    ScriptedExchange does(Step step) {
        steps.add(step);
        return this;
    }

    List<Request> requests() {
        return List.copyOf(requests);
    }

    boolean isDone() {
        return steps.isEmpty();
    }

    @Override
    public Answer run(Request request) throws UnreachableException, InterruptedException {
        requests.add(request);
        return steps.remove().answer();
    }
}
