package dev.genv.enforcer.remote.shell;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.CommandRequest;
import dev.genv.enforcer.remote.CommandResult;
import dev.genv.enforcer.remote.CommandRunner;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Runs what is asked in one of this machine's shells, as a login there would. */
final class ShellBuilder implements CommandRunner {
    private final List<String> program;
    private final List<CommandRequest> requests = new ArrayList<>();
    private @Nullable AnswerTransformer noise;

    /** Skips the test where it is not installed. */
    ShellBuilder(String program) {
        this.program = List.of(program.split(" ", -1));
        var name = this.program.getFirst();
        Requirements.program("/bin/" + name, name.equals("setpriv") ? "util-linux" : name);
    }

    /** What a login makes of an answer. */
    interface AnswerTransformer {
        CommandResult transform(CommandResult answer);
    }

    /** The shells that machines have. */
    static Stream<String> allShells() {
        return Stream.of("dash", "bash --posix", "busybox sh");
    }

    /** One of them, for what takes long in each; all of them in the long suites. */
    static Stream<String> testedShells() {
        return Boolean.getBoolean("suite.long") ? allShells() : Stream.of("dash");
    }

    ShellBuilder transformAnswers(AnswerTransformer other) {
        noise = other;
        return this;
    }

    List<CommandRequest> requests() {
        return requests;
    }

    @Override
    public CommandResult run(CommandRequest request) throws InterruptedException {
        requests.add(request);
        try {
            var output = Files.createTempFile("shell", "output");
            var errors = Files.createTempFile("shell", "errors");
            var process = new ProcessBuilder(program)
                    .redirectOutput(output.toFile())
                    .redirectError(errors.toFile())
                    .start();
            try (var input = process.getOutputStream()) {
                input.write(request.input().getBytes(UTF_8));
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
            return noise == null ? answer : noise.transform(answer);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
