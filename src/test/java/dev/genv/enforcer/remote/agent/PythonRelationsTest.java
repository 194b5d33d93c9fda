package dev.genv.enforcer.remote.agent;

import static dev.genv.enforcer.remote.agent.PythonMachine.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.format.linux.Cgroup;
import dev.genv.enforcer.format.linux.Environ;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Fifo;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The processes that the agent looks at besides the listed ones. */
@Timeout(600)
class PythonRelationsTest {
    private static final int LISTED = 500;
    private static final long USER = 1003;
    private static final long OTHER_USER = 1004;
    private static final long ENVIRON_START = 1_000_000;
    private static final String CONTAINER = "12:pids:/x\n0::/machine.slice/box.scope\n";

    @TempDir
    private Path folder;

    private PythonMachine machine;
    private FakeProc proc;

    @BeforeEach
    void create() throws IOException {
        machine = new PythonMachine(folder);
        proc = machine.useFakeProc(folder.resolve("proc"));
        machine.setGpuProcesses(LISTED);
    }

    @Test
    void intactEnvironNeedsNoRelations() throws Exception {
        process(LISTED, 400, 400, 400).environ("A=B\0C=\0");
        process(400, 1, 400, 400);
        var facts = machine.observe();
        assertThat(facts.get("related")).isEmpty();
        assertThat(facts.get("relatedIsComplete").asBoolean()).isTrue();
        assertThat(listed(facts).at("/cgroup/failure").asText()).isEqualTo("SKIPPED");
        assertThat(listed(facts).at("/namespacePids/failure").asText()).isEqualTo("SKIPPED");
    }

    @Test
    void environThatIsNotAsExecveWroteItNeedsRelations() throws Exception {
        process(400, 1, 400, 400);
        process(LISTED, 400, 400, 400).environ("\0\0\0");
        assertThat(related(machine.observe())).containsExactly(400);
        process(LISTED, 400, 400, 400).environ("A=B\0").field(50, ENVIRON_START + 1);
        assertThat(related(machine.observe())).containsExactly(400);
        process(LISTED, 400, 400, 400).environ("A=B\0").field(51, ENVIRON_START + 5);
        assertThat(related(machine.observe())).containsExactly(400);
        process(LISTED, 400, 400, 400).environ("").field(51, 0);
        assertThat(related(machine.observe())).as("while it exits").isEmpty();
    }

    @Test
    void wellFormedAsInJava() throws Exception {
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
        machine.setGpuProcesses(IntStream.range(100, 100 + environs.size()).toArray());
        for (var i = 0; i < environs.size(); i++) {
            process(100 + i, 1, 0, 0).environ(environs.get(i));
        }
        var wellFormed = machine.observe().get("processes").findValues("wellFormed").stream()
                .map(JsonNode::asBoolean)
                .toList();
        assertThat(wellFormed)
                .isEqualTo(environs.stream()
                        .map(environ -> Environ.isWellFormed(environ.getBytes(StandardCharsets.UTF_8)))
                        .toList())
                .contains(true, false);
    }

    @Test
    void ancestorsEndWithAnotherUser() throws Exception {
        titled(LISTED, 400, 0, 0);
        process(400, 300, 0, 0);
        process(300, 200, 0, 0);
        process(200, 100, 0, 0).uid(OTHER_USER);
        process(100, 1, 0, 0);
        process(600, LISTED, 0, 0);
        var facts = machine.observe();
        assertThat(related(facts)).containsExactly(300, 400);
        assertThat(facts.get("relatedIsComplete").asBoolean()).isTrue();
    }

    @Test
    void atMost64Ancestors() throws Exception {
        titled(LISTED, 400, 0, 0);
        for (var pid = 400; pid > 300; pid--) {
            process(pid, pid - 1, 0, 0);
        }
        assertThat(related(machine.observe())).hasSize(64).contains(400).doesNotContain(336);
    }

    @Test
    void sessionAndProcessGroup() throws Exception {
        titled(LISTED, 1, 450, 400);
        process(400, 1, 400, 400);
        process(450, 1, 450, 399);
        process(451, 1, 451, 400);
        process(452, 1, 451, 399);
        process(453, 1, 450, 400).uid(OTHER_USER);
        process(454, 1, 0, 0);
        assertThat(related(machine.observe())).containsExactly(400, 450, 451);
        titled(LISTED, 1, 0, 0);
        assertThat(related(machine.observe())).as("of another PID namespace").isEmpty();
    }

    @Test
    void unitOfAProcess() throws Exception {
        var id = "0123456789abcdef".repeat(4);
        var units = List.of(
                "/machine.slice/box.scope",
                "/system.slice/train.service",
                "/docker/" + id,
                "/kubepods/cri-" + id,
                "/" + id + "/inner");
        var others = List.of(
                "/",
                "/user.slice",
                "/user.slice/user@7.service",
                "/user.slice/user@7.service/init.scope",
                "/a" + id,
                "/" + id + "0");
        for (var path : Stream.concat(units.stream(), others.stream()).toList()) {
            titled(LISTED, 1, 0, 0).cgroup("12:pids:/x\n0::" + path + "\n");
            process(400, 1, 0, 0).cgroup("0::" + path + "\n");
            process(401, 1, 0, 0).cgroup("0::" + path + "/below\n");
            process(402, 1, 0, 0).cgroup("12:pids:" + path + "\n0::/\n");
            process(403, 1, 0, 0).cgroup("0::" + path + "\n").uid(OTHER_USER);
            process(404, 1, 0, 0);
            assertThat(related(machine.observe())).as(path).isEqualTo(units.contains(path) ? Set.of(400) : Set.of());
            assertThat(Cgroup.parse("0::" + path + "\n").isUnit()).isEqualTo(units.contains(path));
        }
    }

    @Test
    void settledProcessNeedsNoRelations() throws Exception {
        titled(LISTED, 400, 0, 0);
        process(400, 1, 0, 0);
        machine.request.putArray("settled").addArray().add(LISTED).add(1000);
        assertThat(related(machine.observe())).isEmpty();
        machine.request.putArray("settled").addArray().add(LISTED).add(1001);
        assertThat(related(machine.observe())).as("another process").containsExactly(400);
    }

    @Test
    void listedProcessIsNotRepeated() throws Exception {
        machine.setGpuProcesses(400, LISTED, 600);
        titled(LISTED, 400, 0, 0).cgroup(CONTAINER);
        process(400, 300, 0, 0).cgroup("0::/a\n");
        process(300, 1, 0, 0);
        process(600, 1, 0, 0);
        var facts = machine.observe();
        assertThat(related(facts)).containsExactly(300);
        var processes = facts.get("processes");
        assertThat(bytes(processes.get(0).at("/cgroup/value"))).isEqualTo("0::/a\n");
        assertThat(bytes(processes.get(0).at("/namespacePids/value"))).isEqualTo("400\t7");
        assertThat(bytes(processes.get(1).at("/cgroup/value"))).isEqualTo(CONTAINER);
        assertThat(bytes(processes.get(2).at("/cgroup/value"))).isEqualTo("0::/\n");
    }

    @Test
    void factsOfARelatedProcess() throws Exception {
        titled(LISTED, 400, 0, 0);
        process(400, 1, 0, 0).cgroup(CONTAINER).environ("GENV_ENVIRONMENT_ID=a\0");
        var seen = machine.observe().get("related").get(0);
        assertThat(seen.get("pid").asInt()).isEqualTo(400);
        assertThat(seen.at("/uid/value").asLong()).isEqualTo(USER);
        assertThat(bytes(seen.at("/environ/value/id"))).isEqualTo("a");
        assertThat(seen.at("/environ/value/wellFormed").asBoolean()).isTrue();
        assertThat(seen.at("/executable/failure").asText()).isEqualTo("SKIPPED");
        assertThat(bytes(seen.at("/cgroup/value"))).isEqualTo(CONTAINER);
        assertThat(bytes(seen.at("/namespacePids/value"))).isEqualTo("400\t7");
        assertThat(seen.get("after")).isEqualTo(seen.get("before"));
    }

    @Test
    void tooManyOfOneUserLeaveOutNoneOfAnother() throws Exception {
        machine.setGpuProcesses(LISTED, 501);
        titled(LISTED, 400, 0, 399);
        process(400, 1, 0, 0);
        titled(501, 1, 0, 398).uid(OTHER_USER);
        process(9000, 1, 0, 398).uid(OTHER_USER);
        for (var pid = 1000; pid < 1600; pid++) {
            process(pid, 1, 0, 399);
        }
        var facts = machine.observe();
        assertThat(related(facts)).hasSize(512).contains(400, 9000);
        assertThat(facts.get("relatedIsComplete").asBoolean()).isFalse();
    }

    @Test
    void hangingRelatedProcessIsLeftOut() throws Exception {
        machine.request.put("budget", 20);
        titled(LISTED, 400, 0, 0);
        process(400, 300, 0, 0).environ("A=B\0");
        process(300, 1, 0, 0);
        Files.delete(proc.root().resolve("400/environ"));
        Fifo.at(proc.root().resolve("400/environ"));
        var facts = machine.observe();
        assertThat(related(facts)).containsExactly(300, 400);
        assertThat(facts.get("relatedIsComplete").asBoolean()).isFalse();
        assertThat(facts.at("/related/1/environ/failure").asText()).isIn("TIMEOUT", "NO_TIME");
    }

    private JsonNode listed(JsonNode facts) {
        return facts.get("processes").get(0);
    }

    private static Set<Integer> related(JsonNode facts) {
        return facts.get("related").findValues("pid").stream()
                .map(JsonNode::asInt)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private Fake titled(int pid, int parent, int group, int session) throws IOException {
        return process(pid, parent, group, session).environ("\0title\0");
    }

    private Fake process(int pid, int parent, int group, int session) throws IOException {
        var fake = new Fake(pid, proc.process(pid));
        return fake.field(4, parent)
                .field(5, group)
                .field(6, session)
                .cgroup("0::/\n")
                .environ("HOME=/\0")
                .uid(USER);
    }

    /** A fake process whose stat can have any numbers. */
    private record Fake(int pid, FakeProc.FakeProcess process) {
        /** Sets a field of proc_pid_stat(5). */
        Fake field(int number, long value) throws IOException {
            var stat = process.file("stat");
            var fields = Files.readString(stat).strip().split(" ", -1);
            fields[number - 1] = Long.toString(value);
            Files.writeString(stat, String.join(" ", fields) + "\n");
            return this;
        }

        Fake environ(String text) throws IOException {
            var content = text.getBytes(StandardCharsets.UTF_8);
            process.environ(content);
            return field(49, ENVIRON_START).field(50, ENVIRON_START).field(51, ENVIRON_START + content.length);
        }

        Fake cgroup(String content) throws IOException {
            Files.writeString(process.file("cgroup"), content);
            return this;
        }

        Fake uid(long uid) throws IOException {
            process.uid(uid);
            var status = process.file("status");
            Files.writeString(status, Files.readString(status) + "NSpid:\t%d\t7\n".formatted(pid));
            return this;
        }
    }
}
