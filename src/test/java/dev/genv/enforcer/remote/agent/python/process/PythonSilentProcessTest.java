package dev.genv.enforcer.remote.agent.python.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.file.Files;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Processes whose memory does not answer, as if it were in a file system that hangs. */
@Timeout(600)
class PythonSilentProcessTest extends PythonProcessFixture {
    /** A process can place its memory in a file system that never answers. */
    @Test
    void processThatDoesNotAnswerDelaysNoOther() throws Exception {
        for (var pid : List.of(7, 9)) {
            hang(process(pid), "environ");
        }
        for (var pid : List.of(8, 10)) {
            process(pid).environ("GENV_ENVIRONMENT_ID=a");
        }
        var processes = machine.observe().get("processes");
        assertThat(processes).hasSize(4);
        assertThat(processes.at("/0/environ/failure").asText()).isEqualTo("TIMEOUT");
        assertThat(id(processes.get(1))).isEqualTo("a");
        assertThat(processes.at("/2/environ/failure").asText()).isEqualTo("TIMEOUT");
        assertThat(processes.at("/2/executable/failure").asText()).isEqualTo("TIMEOUT");
        assertThat(processes.at("/2/after")).isEqualTo(processes.at("/2/before"));
        assertThat(id(processes.get(3))).isEqualTo("a");
    }

    @Test
    void skippedProcessIsNotRead() throws Exception {
        hang(process(7), "environ");
        machine.request.withArray("/skip").add(7);
        machine.request.put("budget", 1); // it would be too short for a time limit
        var seen = onlyProcess(machine.observe());
        assertThat(seen.at("/environ/failure").asText()).isEqualTo("SKIPPED");
        assertThat(seen.at("/executable/failure").asText()).isEqualTo("SKIPPED");
        assertThat(seen.at("/uid/value").asLong()).isEqualTo(1000);
    }

    /** The first process of uid 2000 takes its owner a second, and all of uid 2001 together take less. */
    @Test
    void ownersTakeTurnsByTheTimeOfTheirProcesses() throws Exception {
        hang(process(10).uid(2000), "environ");
        for (var pid : List.of(11, 12)) {
            process(pid).uid(2000);
        }
        for (var pid : List.of(20, 21, 22)) {
            process(pid).uid(2001);
        }
        machine.request.withArray("/first").add(22).add(12).add(9).add(10);
        var order = folder.resolve("order");
        var read = "            before = self.stat(pid)\n";
        var input = machine.input("observe");
        assertThat(input).contains(read);
        var log = "            open('%s', 'a').write('%%d\\n' %% pid)\n".formatted(order);
        assertThat(machine.run(input.replace(read, read + log)).answer().has("facts"))
                .isTrue();
        assertThat(Files.readAllLines(order).stream().filter(pid -> pid.startsWith("1")))
                .containsExactly("12", "10", "11");
        assertThat(Files.readAllLines(order)).startsWith("22").endsWith("11").containsSubsequence("22", "20", "21");
    }

    /** Those that hung in earlier observations count too, also those of its subordinate uids. */
    @Test
    void ownerOfManySkippedProcessesHasNoShareLeft() throws Exception {
        machine.request
                .withArray("/subordinates")
                .addArray()
                .add(100_000)
                .add(65_536)
                .add(2000);
        for (var pid = 10; pid < 18; pid++) {
            hang(process(pid).uid(100_000 + pid), "environ");
            machine.request.withArray("/skip").add(pid);
        }
        process(18).uid(2000).environ("GENV_ENVIRONMENT_ID=a");
        process(19).uid(2001).environ("GENV_ENVIRONMENT_ID=a");
        var processes = machine.observe().get("processes");
        assertThat(processes.at("/0/environ/failure").asText()).isEqualTo("SKIPPED");
        assertThat(processes.at("/8/environ/failure").asText()).isEqualTo("NO_TIME");
        assertThat(id(processes.get(9))).isEqualTo("a");
    }

    @Test
    void hangingProcessesOfAUserUseUpOnlyTheirShare() throws Exception {
        for (var pid = 10; pid < 22; pid++) {
            hang(process(pid).uid(2000), "environ");
        }
        for (var pid = 22; pid < 100; pid++) {
            process(pid).uid(2000).environ("GENV_ENVIRONMENT_ID=a");
        }
        process(100).uid(2001).environ("GENV_ENVIRONMENT_ID=a");
        await("a busy machine may need more than the short wait that is left for the last one")
                .untilAsserted(() -> {
                    var processes = machine.observe().get("processes");
                    assertThat(processes.at("/0/environ/failure").asText()).isEqualTo("TIMEOUT");
                    for (var later = 4; later < 90; later++) {
                        assertThat(processes.get(later).at("/environ/failure").asText())
                                .isEqualTo("NO_TIME");
                    }
                    assertThat(id(processes.get(90))).isEqualTo("a");
                });
    }
}
