package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;

/** Programs that answer each request with itself. */
abstract class ProgramServer extends ServerTest {
    static final String TEXT = "the program\n";

    /** The requests that programs have received. */
    final List<String> received = Collections.synchronizedList(new ArrayList<>());

    volatile Behavior behavior = (_, _) -> true;

    /** What a program does with a request before it answers. */
    interface Behavior {
        /** Returns whether the program continues. */
        boolean receive(String request, OutputStream out) throws Exception;
    }

    @BeforeEach
    void addProgram() {
        for (var command : List.of("p", "other")) {
            server.addProgram(command, (in, out, _) -> {
                in.skipNBytes(TEXT.length());
                var lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
                for (var line = lines.readLine(); line != null; line = lines.readLine()) {
                    received.add(line);
                    if (!behavior.receive(line, out)) {
                        return 3;
                    }
                    print(out, "@%1$s received\n@%1$s {%1$s}\n".formatted(line));
                }
                return 0;
            });
        }
    }

    void assertAnswered(String number) throws Exception {
        assertAnswered(request(number), number);
    }

    void assertAnswered(ProgramRequest request, String number) throws Exception {
        assertThat(connection.request(request))
                .isEqualTo(new CommandResult("@%1$s received\n@%1$s {%1$s}\n".formatted(number), "", null, null));
    }

    static void assertInterrupted(CommandResult answer, ProblemCode code) {
        assertThat(answer.interruption()).isNotNull();
        assertThat(answer.interruption().code()).as(answer.toString()).isEqualTo(code);
    }

    static ProgramRequest repeatable(String number) {
        return new ProgramRequest("p", TEXT, number + "\n", "@" + number + " ", true, TestFleet.LONG_TIMEOUT, 8 << 20);
    }

    static ProgramRequest request(String number) {
        return new ProgramRequest("p", TEXT, number + "\n", "@" + number + " ", false, TestFleet.LONG_TIMEOUT, 8 << 20);
    }

    static boolean print(OutputStream out, String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.UTF_8));
        out.flush();
        return true;
    }
}
