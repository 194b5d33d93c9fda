package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.remote.agent.python.PythonOutput;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A connection may be lost at any time, and a login script may read or write something too. */
@Timeout(600)
class DamagedInputTest extends PythonAgentFixture {
    /** A connection may be lost while the program is sent. */
    @Test
    void truncatedProgramDoesNothing() throws Exception {
        var length = PROGRAM.text().length();
        for (var sent : List.of(0, 10, length / 3, length / 2, length - 20, length - 1)) {
            var output = send(PROGRAM.text().substring(0, sent));
            assertThat(output.errors()).as("%d of it", sent).isEqualTo("the agent arrived damaged\n");
            assertThat(output.text()).isEmpty();
            assertThat(output.exitCode()).isEqualTo(1);
        }
        assertThat(machine.run).doesNotExist();
    }

    @Test
    void damagedProgramDoesNothing() throws Exception {
        for (var change : List.of("SWAP = 0", "return", "\n")) {
            var damaged = PROGRAM.text().replaceFirst(change, "x".repeat(change.length()));
            var output = send(damaged + observe());
            assertThat(output.errors()).isEqualTo("the agent arrived damaged\n");
            assertThat(output.text()).isEmpty();
        }
        // A login that reads a part of the input leaves too little of it.
        assertThat(send(PROGRAM.text().substring(5) + observe()).text()).isEmpty();
        assertThat(machine.run).doesNotExist();
    }

    @Test
    void truncatedRequestDoesNothing() throws Exception {
        var line = observe();
        for (var missing : List.of(1, 2, 9, 10, 11, line.length() / 2, line.length() - 1)) {
            var output = send(PROGRAM.text() + line.substring(0, line.length() - missing));
            assertThat(output).isEqualTo(new PythonOutput(0, "", ""));
        }
        assertThat(machine.run).doesNotExist();
    }

    @Test
    void damagedRequestDoesNothing() throws Exception {
        var line = observe();
        for (var damaged : List.of(
                line.replace("\"budget\":110", "\"budget\":111"),
                line.substring(0, line.length() - 10) + "\n",
                line.substring(1),
                "\n")) {
            var output = send(PROGRAM.text() + damaged);
            assertThat(output.errors()).isEqualTo("a request arrived damaged\n");
            assertThat(output.text()).isEmpty();
        }
        assertThat(machine.run).doesNotExist();
    }

    private PythonOutput send(String input) throws Exception {
        machine.command = List.of("sh", "-c", "exec " + PROGRAM.command());
        return machine.run(input);
    }
}
