package dev.genv.enforcer.remote.agent;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.linux.Environ;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Facts about listed processes, which are fake: a test could not make the kernel show them. */
class PythonProcessTest extends PythonFixture {
    private static final String VARIABLE_A = "GENV_ENVIRONMENT_ID=a";
    private static final int MOST = 16 << 20;
    private static final int LARGEST_STATE_FILE = 2 << 20;
    private static final List<String> FILES = List.of("envs.json", "devices.json");

    private FakeProc proc;

    @BeforeEach
    void createProcesses() throws IOException {
        proc = useFakeProc();
    }

    private FakeProc.FakeProcess process(int pid) throws IOException {
        return listed(proc, pid);
    }

    @Test
    void deliversAnyCommandName() throws Exception {
        for (var name : List.of("x) Z 1 (y", "a\nb", "\n@0 gone 7", "ä\u0001\u007f", ") S 1", "", "Uid:\t0")) {
            process(7).command(name).uid(1003).environ(VARIABLE_A);
            var seen = onlyProcess();
            assertThat(bytes(seen.at("/before/value")))
                    .contains("(" + new String(name.getBytes(UTF_8), ISO_8859_1) + ")");
            assertThat(seen.get("after")).isEqualTo(seen.get("before"));
            assertThat(seen.at("/uid/value").asLong()).isEqualTo(1003);
            assertThat(id(seen)).isEqualTo("a");
        }
    }

    @Test
    void deliversTheLastId() throws Exception {
        assertId("", "PATH=/bin", "x");
        assertId("b", VARIABLE_A, "GENV_ENVIRONMENT_ID=b", "X=" + VARIABLE_A);
        assertId("", VARIABLE_A, "GENV_ENVIRONMENT_ID=");
        assertId("a", VARIABLE_A, "X=\nGENV_ENVIRONMENT_ID=b", "\nGENV_ENVIRONMENT_ID=c");
        assertId("\n@0 {}\n\n", "GENV_ENVIRONMENT_ID=\n@0 {}\n\n");
        assertId("", "XGENV_ENVIRONMENT_ID=a", "genv_environment_id=a");
        assertId("a", VARIABLE_A, "", "", "\nX");
        process(7).environ(VARIABLE_A.getBytes(UTF_8));
        assertThat(id(onlyProcess())).isEqualTo("a");
        process(7).environ((VARIABLE_A + "\u00ff\0").getBytes(ISO_8859_1));
        assertThat(id(onlyProcess())).isEqualTo("a\u00ff");
    }

    private void assertId(String expected, String... variables) throws Exception {
        process(7).environ(variables);
        assertThat(id(onlyProcess())).isEqualTo(expected);
    }

    @Test
    void readsTheFirstEightMebibytesOfAnEnviron() throws Exception {
        assertId("a", "X=" + "x".repeat(3 << 20), VARIABLE_A, "Y=" + "y".repeat(3 << 20));
        assertId("", "X=" + "x".repeat(9 << 20), VARIABLE_A);
        assertThat(onlyProcess().at("/environ/value/size").asLong()).isEqualTo(8 << 20);
        assertId("x".repeat(4096), "GENV_ENVIRONMENT_ID=" + "x".repeat(1 << 20));
        assertThat(onlyProcess().at("/environ/value/digest").asText())
                .isEqualTo(Sha256.hex("x".repeat(1 << 20).getBytes(UTF_8)));
    }

    /** A thread that exits shows an empty environ before it is a zombie. */
    @Test
    void readsAThreadThatHasItsMemory() throws Exception {
        var process = process(7).state('Z').threads(4).withoutEnvironment();
        process.thread(7).state('Z').withoutEnvironment();
        process.thread(8).state('X').withoutEnvironment();
        process.thread(9).withoutEnvironment();
        process.thread(10).environ(VARIABLE_A).exe(Path.of("/bin/sleep"));
        var seen = onlyProcess();
        assertThat(id(seen)).isEqualTo("a");
        assertThat(seen.at("/executable/value/id/inode").asLong())
                .isEqualTo(Files.getAttribute(Path.of("/bin/sleep"), "unix:ino"));
    }

    @Test
    void identifiesItsProgramUnderAnyName() throws Exception {
        machine.request.withArray("/programs").add("/bin/sleep");
        process(7).exe(Files.createSymbolicLink(folder.resolve("other"), Path.of("/bin/sleep")));
        process(8).exe(folder.resolve("elsewhere/sleep"));
        process(9).exe(Files.createFile(folder.resolve("users")));
        setMode(folder.resolve("users"), "rwxrwxrwx");
        process(10);
        var facts = machine.facts();
        assertThat(facts.at("/processes/0/executable/value")).isEqualTo(facts.at("/programs/0/value"));
        assertThat(facts.get("processes").findValues("executable").stream()
                        .skip(1)
                        .map(each -> each.get("failure").asText()))
                .containsExactly("UNTRUSTED", "UNTRUSTED", "ABSENT");
    }

    @Test
    void skipsTheCgroupOnlyOfAnAttributedProcess() throws Exception {
        process(7).startTime(360_000).cgroup("/docker/x");
        for (var start : List.of(359_999, 360_000)) {
            machine.request.putArray("attributed").addArray().add(7).add(start);
            assertThat(onlyProcess().at("/cgroup/failure").asText()).isEqualTo(start == 360_000 ? "SKIPPED" : "");
        }
    }

    @Test
    void onlyAnEnvironThatIsNotAsExecveWroteItNeedsRelations() throws Exception {
        proc.process(400);
        related(process(500).parent(400).environ("A=B", "C="), "");
        related(process(500).parent(400).environ("A=B").overwrite(), "400");
        for (var field : List.of(50, 51)) { // of proc_pid_stat(5): where the environ begins and ends
            var process = process(500).parent(400).environ("A=B");
            var stat = Files.readString(process.file("stat")).strip().split(" ", -1);
            stat[field - 1] =
                    new BigInteger(stat[field - 1]).add(BigInteger.ONE).toString();
            Files.writeString(process.file("stat"), String.join(" ", stat) + "\n");
            related(process, "400");
        }
        related(process(500).parent(400).withoutEnvironment(), ""); // it exits
    }

    private void related(FakeProc.FakeProcess process, String expected) throws Exception {
        assertThat(process).isNotNull();
        assertThat(String.join(" ", machine.facts().get("related").findValuesAsText("pid")))
                .isEqualTo(expected);
    }

    @Test
    void environIsWellFormedAsInJava() throws Exception {
        var environs = List.of(
                "",
                "\0",
                "\0\0",
                "A=B\0",
                "A=B",
                "A=\0",
                "=\0",
                "=A\0",
                "A\0",
                "A=B\0C\0",
                "A=B\0\0",
                "\0A=B\0",
                "A=B\0C=D\0",
                "A==\0",
                "A=\0=B\0",
                "A\0B=\0",
                "A=B\0=\0",
                "Ä=\0",
                "A=B\0 ");
        for (var i = 0; i < environs.size(); i++) {
            process(100 + i).environ(environs.get(i).getBytes(UTF_8));
        }
        assertThat(machine.facts().get("processes").findValues("wellFormed").stream()
                        .map(JsonNode::asBoolean)
                        .toList())
                .isEqualTo(environs.stream()
                        .map(environ -> Environ.isWellFormed(environ.getBytes(UTF_8)))
                        .toList())
                .contains(true, false);
    }

    /** A process can place its memory in a file system that never answers. */
    @Test
    void processThatDoesNotAnswerDelaysNoOther() throws Exception {
        for (var pid : List.of(7, 9)) {
            hang(process(pid), "environ");
        }
        for (var pid : List.of(8, 10)) {
            process(pid).environ(VARIABLE_A);
        }
        var processes = machine.facts().get("processes");
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
        var seen = onlyProcess();
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
        var log = "            open('%s', 'a').write('%%d\\n' %% pid)\n".formatted(order);
        machine.facts(changed(machine.input("observe"), read, read + log));
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
        process(18).uid(2000).environ(VARIABLE_A);
        process(19).uid(2001).environ(VARIABLE_A);
        var processes = machine.facts().get("processes");
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
            process(pid).uid(2000).environ(VARIABLE_A);
        }
        process(100).uid(2001).environ(VARIABLE_A);
        await("a busy machine may need more than the short wait that is left for the last one")
                .untilAsserted(() -> {
                    var processes = machine.facts().get("processes");
                    assertThat(processes.at("/0/environ/failure").asText()).isEqualTo("TIMEOUT");
                    for (var later = 4; later < 90; later++) {
                        assertThat(processes.get(later).at("/environ/failure").asText())
                                .isEqualTo("NO_TIME");
                    }
                    assertThat(id(processes.get(90))).isEqualTo("a");
                });
    }

    /** Users make the answer too long, without which no rule acts on the machine. */
    @Test
    void relationsAreOmittedFirstFromALongAnswer() throws Exception {
        machine.setGpuProcesses(IntStream.range(1000, 1300).toArray());
        for (var pid = 1000; pid < 1700; pid++) {
            proc.process(pid)
                    .environ("title", "GENV_ENVIRONMENT_ID=" + "x".repeat(4096))
                    .cgroup("/user.slice/%s/job.scope".formatted("x".repeat(4000)));
        }
        var facts = shortened();
        assertThat(facts.at("/relatedOmission/ofAnyUser").asBoolean()).isTrue();
        assertThat(facts.get("related")).isEmpty();
        assertThat(facts.get("processes")).hasSize(300).allSatisfy(process -> {
            assertThat(process.at("/environ/value/id").asText()).hasSizeGreaterThan(4096);
            assertThat(process.at("/cgroup/failure").asText()).isEqualTo("SKIPPED");
            assertThat(process.at("/namespacePids/failure").asText()).isEqualTo("SKIPPED");
        });
        assertThat(facts.at("/liveness/processes/value").isArray()).isTrue();
    }

    @Test
    void longIdsAreOmittedNextFromALongAnswer() throws Exception {
        machine.setGpuProcesses(IntStream.range(1000, 2500).toArray());
        for (var pid = 1000; pid < 2500; pid++) {
            proc.process(pid).environ("GENV_ENVIRONMENT_ID=" + (pid == 1000 ? "15971" : "x".repeat(4096)));
        }
        var processes = shortened().get("processes");
        assertThat(id(processes.get(0))).isEqualTo("15971");
        assertThat(processes.at("/1499/environ"))
                .hasToString("{\"failure\":\"OTHER\",\"reason\":\"the answer would be too long\"}");
    }

    /** The facts of an answer that the service accepts, with two different readings of the largest state files. */
    private JsonNode shortened() throws Exception {
        var change = new StringBuilder();
        for (var name : FILES) {
            var file = machine.state.resolve(name);
            Files.writeString(file, "{}" + " ".repeat(LARGEST_STATE_FILE - 2));
            change.append("    open('%s', 'w').write('{}' + '\\n' * %d)\n".formatted(file, LARGEST_STATE_FILE - 2));
        }
        var ask = "    facts[\"gpu\"], pids, tool_hangs = ";
        var output = machine.run(changed(machine.input("observe"), ask, change + ask));
        assertThat(output.text()).hasSizeLessThan(MOST);
        var answer = output.answer();
        assertThat(AgentJson.read(SampleFacts.bytes(answer.toString()), Answer.class))
                .isInstanceOf(Answer.Observed.class);
        for (var file : List.of("/facts/state/envs", "/facts/earlierState/devices")) {
            assertThat(bytes(answer.at(file + "/present/content"))).hasSize(LARGEST_STATE_FILE);
        }
        return answer.get("facts");
    }
}
