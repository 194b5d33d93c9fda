package dev.genv.enforcer.testsupport.linux;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Receives what a service sends to its service manager, in a process that decides by itself what an address means. */
public final class NotifyReceiver implements AutoCloseable {
    private static final String PROGRAM = """
            import socket, sys
            receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            name = sys.argv[1]
            receiver.bind("\\0" + name[1:] if name.startswith("@") else name)
            print("bound", flush=True)
            while True:
                print(receiver.recv(4096).decode().replace("\\n", " "), flush=True)
            """;

    private final Process process;
    private final Path output;

    /** Binds a path, or after an {@code @} an abstract name. */
    public NotifyReceiver(String name, Path output) throws IOException {
        Requirements.program("/usr/bin/python3", "python3");
        this.output = output;
        process = new ProcessBuilder("/usr/bin/python3", "-c", PROGRAM, name)
                .redirectOutput(output.toFile())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        await().until(() -> Files.readString(output).startsWith("bound\n"));
    }

    /** The messages until now, with blanks for line ends. */
    public List<String> messages() throws IOException {
        var lines = Files.readAllLines(output);
        return lines.subList(1, lines.size());
    }

    @Override
    public void close() {
        process.destroyForcibly();
        await().until(() -> !process.isAlive());
    }
}
