package dev.genv.enforcer.remote.agent;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What only the agent does when it observes; its processes are fake, because a test could not make the kernel show them. */
class PythonObservationTest extends PythonFixture {
    private static final String VARIABLE_A = "GENV_ENVIRONMENT_ID=a";
    private static final int MOST = 16 << 20;
    private static final int LARGEST_STATE_FILE = 2 << 20;
    private static final List<String> FILES = List.of("envs.json", "devices.json");
    private FakeProc proc;

    @BeforeEach
    void createProcesses() throws IOException {
        proc = machine.useFakeProc();
    }

    @Test
    void identifiesTheMachineAndItsBoot() throws Exception {
        assertThat(machine.facts().at("/machine/bootId").asText()).isEqualTo(PythonMachine.BOOT);
        assertThat(machineId()).isEqualTo("0123456789abcdef0123456789abcdef");
        Files.delete(machine.etc.resolve("machine-id"));
        assertThat(machineId()).isEmpty();
        var dbus = Files.createDirectories(folder.resolve("var/lib/dbus"));
        Files.writeString(dbus.resolve("machine-id"), "f".repeat(32));
        assertThat(machineId()).isEqualTo("f".repeat(32));
        Files.writeString(machine.etc.resolve("machine-id"), "\n");
        assertThat(machineId()).isEqualTo("f".repeat(32));
    }

    /** What the tool lists is compared with the time before it is run. */
    @Test
    void readsTheTimeBeforeTheListingAndBeforeTheState() throws Exception {
        var uptime = proc.root().resolve("uptime");
        machine.nvidiaSmi.fault("echo 3700.00 0.00 >" + uptime);
        var facts = machine.facts();
        assertThat(facts.at("/machine/beforeListing").asLong()).isEqualTo(360_000);
        assertThat(facts.at("/machine/beforeState").asLong()).isEqualTo(370_000);
    }

    private String machineId() throws Exception {
        return machine.facts().at("/machine/machineId").asText();
    }

    @Test
    void sendsAccountsOnlyAfterAChange() throws Exception {
        Files.writeString(machine.etc.resolve("passwd"), "root:x:0:0::/root:/bin/sh\n");
        var passwd = machine.facts().at("/accounts/passwd/value");
        assertThat(bytes(passwd.get("content"))).isEqualTo("root:x:0:0::/root:/bin/sh\n");
        machine.omitted().put("passwd", passwd.get("version").asText());
        assertThat(machine.facts().at("/accounts/passwd/value/content").isNull())
                .isTrue();
        Files.writeString(machine.etc.resolve("passwd"), "raz:x:1000:0::/:/bin/sh\n");
        assertThat(bytes(machine.facts().at("/accounts/passwd/value/content"))).startsWith("raz");
        Files.delete(machine.etc.resolve("passwd"));
        assertThat(machine.facts().at("/accounts/passwd/failure").asText()).isEqualTo("ABSENT");
        Files.write(machine.etc.resolve("passwd"), new byte[3 << 20]);
        assertThat(machine.facts().at("/accounts/passwd/failure").asText()).isEqualTo("OTHER");
        assertThat(machine.facts().at("/accounts/subuid/failure").asText()).isEqualTo("ABSENT");
        Files.writeString(machine.etc.resolve("subuid"), "raz:100000:65536\n");
        assertThat(bytes(machine.facts().at("/accounts/subuid/value/content"))).startsWith("raz:");
    }

    @Test
    void asksTheNameServiceForNamesAndUids() throws Exception {
        assertThat(machine.facts().at("/accounts/named/failure").asText()).isEqualTo("SKIPPED");
        machine.request
                .putArray("accounts")
                .add("root")
                .add("no-such-user")
                .add("0")
                .add("4294967290")
                .add("9999999999");
        assertThat(bytes(machine.facts().at("/accounts/named/value"))).isEqualTo("root:x:0:\n".repeat(2));
    }

    /** Only the number of users who are not known is bounded. */
    @Test
    void asksInTheSameCallForUidsThatNobodyKnows() throws Exception {
        Files.writeString(machine.etc.resolve("passwd"), "bob:x:5000:0::/:/bin/sh\n");
        for (var uid = 4998; uid <= 5002; uid++) {
            proc.process(uid).uid(uid).environ("X=1");
        }
        machine.setGpuProcesses(4998, 4999, 5000, 5001, 5002);
        machine.request.putArray("accounts").add("root");
        machine.request.putArray("knownUids").add(5001);
        machine.request.put("moreAccounts", 2);
        var range = machine.request.putArray("subordinateUids").addObject();
        range.put("owner", 0).put("first", 4999).put("count", 1);
        assertThat(machine.facts().at("/accounts/asked").toString()).isEqualTo("[\"root\",\"4998\",\"0\"]");
    }

    /** What happens in the name service, and the failure; the rest is observed. */
    @ParameterizedTest
    @CsvSource({"time.sleep(600), TIMEOUT", "'os.kill(os.getpid(), 9)', OTHER", "1 / 0, OTHER"})
    void observesWithoutAnAnswerOfTheNameService(String event, String failure) throws Exception {
        machine.request.putArray("accounts").add("root");
        if (failure.equals("TIMEOUT")) {
            machine.request.put("budget", 60);
        }
        var change = "import pwd\npwd.getpwnam = lambda name: %s\nos.chdir(".formatted(event);
        var input = changed(machine.input("observe"), "\nos.chdir(", "\n" + change);
        var facts = machine.facts(input);
        assertThat(facts.at("/accounts/named/failure").asText()).isEqualTo(failure);
        assertThat(facts.at("/accounts/passwd/value/content").isTextual()).isTrue();
    }

    // nvidia-smi; {@code ToolTableTest} and {@code GpuRows} have what both hands do.

    /** It did not end when it was killed, or only its measurements took too long. */
    @Test
    void doesNotRunWhatHungBefore() throws Exception {
        var calls = folder.resolve("calls");
        machine.nvidiaSmi.fault("echo \"$1\" >>%s; ".formatted(calls));
        machine.request.put("deviceStatus", true);
        machine.omitted().put("status", true);
        assertThat(machine.facts().at("/gpu/status/failure").asText()).isEqualTo("SKIPPED");
        assertThat(Files.readString(calls)).contains("--query-compute-apps").doesNotContain("temperature");
        Files.delete(calls);
        machine.omitted().put("tool", true).put("status", false);
        assertFailed(machine.facts(), "SKIPPED", "nvidia-smi hung in an earlier observation");
        assertThat(calls).doesNotExist();
    }

    @Test
    void refusesMoreThanTheMaximumNumberOfProcesses() throws Exception {
        var lines = IntStream.range(100_000, 104_097)
                .mapToObj("echo 'GPU-0, %d, 1'\n"::formatted)
                .toList();
        machine.nvidiaSmi.fault("case $1 in *compute*) " + String.join("", lines) + ";; esac");
        var facts = machine.facts();
        assertFailed(facts, "OTHER", "nvidia-smi lists more processes than can be observed: 4097");
        assertThat(facts.get("processes")).isEmpty();
        machine.nvidiaSmi.fault("case $1 in *compute*) " + String.join("", lines.subList(0, 4000)) + ";; esac");
        assertThat(machine.facts().get("processes")).hasSize(4000);
    }

    @Test
    void hangingStatusCostsNothingElse() throws Exception {
        machine.request.put("deviceStatus", true);
        assertThat(bytes(machine.facts().at("/gpu/status/value/stdout"))).startsWith("0, 0, 16384, 40, 0, ");
        machine.nvidiaSmi.fault("case $1 in *temperature*) exec sleep 600 ;; esac");
        var answer = machine.run(machine.input("observe")).answer();
        assertThat(answer.get("toolHangs").asBoolean()).isFalse();
        assertThat(answer.at("/facts/gpu/status/failure").asText()).isEqualTo("TIMEOUT");
        assertThat(answer.at("/facts/gpu/status/reason").asText()).isEqualTo("nvidia-smi did not exit within 5.00 s");
        assertThat(answer.at("/facts/gpu/devices/value/exitCode").asInt(-1)).isZero();
        assertThat(answer.at("/facts/gpu/processes/value/exitCode").asInt(-1)).isZero();
        assertThat(answer.at("/facts/state/directory/present").isObject()).isTrue();
    }

    private static void assertFailed(JsonNode facts, String failure, String reason) {
        assertThat(facts.at("/gpu/processes/failure").asText()).isEqualTo(failure);
        assertThat(facts.at("/gpu/processes/reason").asText()).startsWith(reason);
    }

    // Listed processes.

    private FakeProc.FakeProcess process(int pid) throws IOException {
        return listed(proc, pid);
    }

    /** Any file of a process may never answer, and only a child can be given up. */
    @Test
    void onlyAChildReadsFilesOfProcesses() throws Exception {
        var watch = """
                MAIN = os.getpid()
                def watched(function):
                    def watching(*arguments, **named):
                        place = os.fsdecode(b"".join(each if isinstance(each, bytes) else str(each).encode() for each in arguments[:3]))
                        if re.search("%1$s/[0-9]", place):
                            open("%2$s", "a").write("%%s %%s\\n" %% ("main" if os.getpid() == MAIN else "child", place))
                        return function(*arguments, **named)
                    return watching
                for each in ("open", "readlink", "listdir", "scandir", "stat", "lstat"):
                    setattr(os, each, watched(getattr(os, each)))
                library_call = watched(library_call)
                """.formatted(proc.root(), folder.resolve("seen"));
        process(500).parent(400).uid(1003).environ("A=B").overwrite();
        process(501).hang("stat");
        process(502).hang("environ");
        process(503);
        machine.omitted().withArray("/processes").addObject().put("pid", 503);
        proc.process(400).uid(1003);
        proc.process(51).arguments("python", "-f", "/run/kernel-k.json");
        machine.request.withArray("/verified").addObject().put("pid", 52).put("startTime", 1);
        machine.files().env("1", 0, null, null, List.of(51, 52), List.of("k")).write();
        machine.orderSignal(500, 1);
        for (var function : List.of("observe", "signal")) {
            machine.run(changed(machine.input(function), "\nos.umask(", "\n" + watch + "os.umask("));
            var seen = Files.readAllLines(folder.resolve("seen"));
            Files.delete(folder.resolve("seen"));
            assertThat(seen).allMatch(line -> line.startsWith("child "));
            for (var pid : function.equals("signal") ? List.of(500) : List.of(400, 51, 52, 500, 503)) {
                assertThat(seen).anyMatch(line -> line.contains("%s/%d/".formatted(proc.root(), pid)));
            }
        }
    }

    /** What takes too long is unknown, so that it decides nothing. */
    @Test
    void hangingAncestorIsAnsweredWithoutItsEnviron() throws Exception {
        machine.request.put("budget", 20);
        process(500).parent(400).uid(1003).environ("A=B").overwrite();
        proc.process(400).parent(300).uid(1003).hang("environ");
        proc.process(300).uid(1003);
        var facts = machine.facts();
        assertThat(facts.get("ancestors").findValuesAsText("pid")).containsExactlyInAnyOrder("300", "400");
        for (var ancestor : facts.get("ancestors")) {
            if (ancestor.get("pid").asInt() == 400) {
                assertThat(ancestor.at("/environ/failure").asText()).isIn("TIMEOUT", "NO_TIME");
            }
        }
    }

    /** The first process of uid 2000 takes its owner a second, and all of uid 2001 together take less. */
    @Test
    void ownersTakeTurnsByTheTimeOfTheirProcesses() throws Exception {
        process(10).uid(2000).hang("environ");
        for (var pid : List.of(11, 12)) {
            process(pid).uid(2000);
        }
        for (var pid : List.of(20, 21, 22)) {
            process(pid).uid(2001);
        }
        machine.request.withArray("/first").add(22).add(12).add(9).add(10);
        var order = folder.resolve("order");
        var read = "        facts = self.kernel_facts(pid, is_ancestor)\n";
        var log = "        open('%s', 'a').write('%%d\\n' %% pid)\n".formatted(order);
        machine.facts(changed(machine.input("observe"), read, read + log));
        assertThat(Files.readAllLines(order).stream().filter(pid -> pid.startsWith("1")))
                .containsExactly("12", "10", "11");
        assertThat(Files.readAllLines(order)).startsWith("22").endsWith("11").containsSubsequence("22", "20", "21");
    }

    /** Those that hung in earlier observations count too, also those of its subordinate uids. */
    @Test
    void ownerOfManySkippedProcessesHasNoShareLeft() throws Exception {
        machine.request
                .withArray("/subordinateUids")
                .addObject()
                .put("first", 100_000)
                .put("count", 65_536)
                .put("owner", 2000);
        for (var pid = 10; pid < 18; pid++) {
            process(pid).uid(100_000 + pid).hang("environ");
            machine.omitted().withArray("/processes").addObject().put("pid", pid);
        }
        process(18).uid(2000).environ(VARIABLE_A);
        process(19).uid(2001).environ(VARIABLE_A);
        var processes = machine.facts().get("processes");
        assertThat(processes.at("/0/environ/failure").asText()).isEqualTo("SKIPPED");
        assertThat(processes.at("/8/environ/failure").asText()).isEqualTo("NO_TIME");
        assertThat(id(processes.get(9))).isEqualTo("a");
    }

    @Test
    void processesOfUnknownUsersUseUpNoShareOfRoot() throws Exception {
        for (var pid = 10; pid < 18; pid++) {
            Files.writeString(process(pid).file("status"), "Name:\tpython\nUid:\tnobody\n");
            machine.omitted().withArray("/processes").addObject().put("pid", pid);
        }
        process(18).uid(0).environ(VARIABLE_A);
        assertThat(id(machine.facts().get("processes").get(8))).isEqualTo("a");
    }

    /** Users make the answer too long, without which no rule acts on the machine. */
    @Test
    void ancestorsAreOmittedFirstFromALongAnswer() throws Exception {
        machine.setGpuProcesses(IntStream.range(1000, 1600).toArray());
        for (var pid = 1000; pid < 1700; pid++) {
            proc.process(pid)
                    .parent(1600 + pid % 100)
                    .environ("title", "GENV_ENVIRONMENT_ID=" + "x".repeat(4096))
                    .cgroup("/user.slice/%s/job.scope".formatted("x".repeat(4000)));
        }
        var facts = shortened();
        assertThat(facts.get("ancestors")).isEmpty();
        assertThat(facts.get("processes")).hasSize(600).allSatisfy(process -> {
            assertThat(process.at("/environ/value/id").asText()).hasSizeGreaterThan(4096);
            assertThat(process.at("/cgroup/failure").asText()).isEqualTo("SKIPPED");
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

    private JsonNode kernels(String... wanted) throws Exception {
        machine.files().env("1", 0, null, null, List.of(), List.of(wanted)).write();
        return machine.facts().at("/liveness/kernels");
    }

    /** Then it is unknown which ones are wanted. */
    private void escapeTheKernels() throws IOException {
        var envs = machine.state.resolve("envs.json");
        Files.writeString(envs, Files.readString(envs).replace("kernel_ids", "kernel\\u005fids"));
    }

    /** Users choose the arguments of their processes, and an answer that is too large would hide the whole machine. */
    @Test
    void manyOrLongNamesOfKernelsAreUnknownIfItIsUnknownWhichOnesAreWanted() throws Exception {
        nameKernels(11, 2, "");
        kernels("20", "30");
        escapeTheKernels();
        assertThat(list(machine.facts().at("/liveness/kernels/files")))
                .containsExactly("kernel-20.json", "kernel-21.json");
        nameKernels(70, 300, "");
        var kernels = kernels("3001");
        assertThat(list(kernels.get("files"))).containsExactly("kernel-3001.json");
        assertThat(kernels.get("unsearched").asText()).isEmpty();
        escapeTheKernels();
        assertThat(machine.facts().at("/liveness/kernels/unsearched").asText())
                .isEqualTo("more than 10000 processes or arguments look like kernels");
        nameKernels(70, 100, "é".repeat(230)); // the JSON of each such byte takes six
        assertThat(machine.facts().at("/liveness/kernels/unsearched").asText())
                .isEqualTo("processes or arguments that look like kernels have too long names");
    }

    private void nameKernels(int processes, int each, String name) throws IOException {
        for (var pid = 10; pid < processes; pid++) {
            var first = pid * each;
            var names = IntStream.range(first, first + each)
                    .mapToObj(number -> "kernel-%s%d.json".formatted(name, number))
                    .collect(Collectors.joining("\0"));
            Files.write(proc.process(pid).file("cmdline"), names.getBytes(ISO_8859_1));
        }
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
        var patient =
                changed(machine.input("observe"), "READING_TIME = 4", "READING_TIME = 600"); // a busy machine is slow
        var output = machine.run(changed(patient, ask, change + ask));
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
