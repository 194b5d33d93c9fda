package dev.genv.enforcer.remote.genv;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.genv.enforcer.remote.CommandRequest;
import dev.genv.enforcer.remote.CommandResult;
import dev.genv.enforcer.remote.CommandRunner;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Runs commands in a local shell, with a folder of programs at the beginning of its PATH. */
record LocalShell(Path programs) implements CommandRunner {

    @Override
    public CommandResult run(CommandRequest request) throws InterruptedException {
        var shell = new ProcessBuilder("sh", "-c", request.command());
        shell.environment().put("PATH", programs + ":/usr/bin:/bin");
        try {
            var errors = Files.createTempFile(programs, "errors", "");
            var process = shell.redirectError(errors.toFile()).start();
            try (var input = process.getOutputStream()) {
                input.write(request.input().getBytes(UTF_8));
            }
            var output = new String(process.getInputStream().readAllBytes(), ISO_8859_1);
            return new CommandResult(output, Files.readString(errors, ISO_8859_1), process.waitFor(), null);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
