package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.linux.ProcStat.Cgroup;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Fifo;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The processes that the agent looks at besides the listed ones. */
class PythonRelationsTest extends PythonFixture {
    private static final int LISTED = 500;
    private static final long USER = 1003;
    private static final long OTHER_USER = 1004;
    private static final String UNIT = "/machine.slice/box.scope";
    private FakeProc proc;

    @BeforeEach
    void listProcess() throws IOException {
        proc = useFakeProc();
        machine.setGpuProcesses(LISTED);
    }

    @Test
    void ancestorsEndWithAnotherUser() throws Exception {
        titled(LISTED, 400, 0, 0);
        process(400, 300, 0, 0);
        process(300, 200, 0, 0);
        process(200, 100, 0, 0).uid(OTHER_USER);
        process(100, 1, 0, 0);
        process(600, LISTED, 0, 0);
        var facts = machine.facts();
        assertThat(related(facts)).containsExactly(300, 400);
        assertThat(omission(facts)).isEqualTo("{\"ofAnyUser\":false,\"uids\":[]}");
    }

    @Test
    void atMost64Ancestors() throws Exception {
        titled(LISTED, 400, 0, 0);
        for (var pid = 400; pid > 300; pid--) {
            process(pid, pid - 1, 0, 0);
        }
        assertThat(related(machine.facts())).hasSize(64).contains(400).doesNotContain(336);
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
        assertThat(related(machine.facts())).containsExactly(400, 450, 451);
        titled(LISTED, 1, 0, 0);
        assertThat(related(machine.facts())).as("of another PID namespace").isEmpty();
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
            writeCgroup(titled(LISTED, 1, 0, 0), "12:pids:/x\n0::" + path + "\n");
            process(400, 1, 0, 0).cgroup(path);
            process(401, 1, 0, 0).cgroup(path + "/below");
            writeCgroup(process(402, 1, 0, 0), "12:pids:" + path + "\n0::/\n");
            process(403, 1, 0, 0).cgroup(path).uid(OTHER_USER);
            process(404, 1, 0, 0);
            assertThat(related(machine.facts())).as(path).isEqualTo(units.contains(path) ? Set.of(400) : Set.of());
            assertThat(Cgroup.parse("0::" + path + "\n").isUnit()).isEqualTo(units.contains(path));
        }
    }

    @Test
    void settledProcessNeedsNoRelations() throws Exception {
        titled(LISTED, 400, 0, 0);
        process(400, 1, 0, 0);
        machine.request.putArray("settled").addArray().add(LISTED).add(1000);
        assertThat(related(machine.facts())).isEmpty();
        machine.request.putArray("settled").addArray().add(LISTED).add(1001);
        assertThat(related(machine.facts())).as("another process").containsExactly(400);
    }

    @Test
    void listedProcessIsNotRepeated() throws Exception {
        machine.setGpuProcesses(400, LISTED, 600);
        titled(LISTED, 400, 0, 0).cgroup(UNIT);
        process(400, 300, 0, 0).cgroup("/a");
        process(300, 1, 0, 0);
        process(600, 1, 0, 0);
        var facts = machine.facts();
        assertThat(related(facts)).containsExactly(300);
        var processes = facts.get("processes");
        assertThat(bytes(processes.get(0).at("/cgroup/value"))).isEqualTo("0::/a\n");
        assertThat(bytes(processes.get(0).at("/namespacePids/value"))).isEqualTo("400\t7");
        assertThat(bytes(processes.get(1).at("/cgroup/value"))).isEqualTo("0::" + UNIT + "\n");
        assertThat(bytes(processes.get(2).at("/cgroup/value"))).isEqualTo("0::/\n");
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
        var facts = machine.facts();
        assertThat(related(facts)).hasSize(512).contains(400, 9000);
        assertThat(omission(facts)).isEqualTo("{\"ofAnyUser\":false,\"uids\":[1003]}");
    }

    @Test
    void hangingRelatedProcessIsLeftOut() throws Exception {
        machine.request.put("budget", 20);
        titled(LISTED, 400, 0, 0);
        process(400, 300, 0, 0);
        process(300, 1, 0, 0);
        Files.delete(proc.root().resolve("400/environ"));
        Fifo.at(proc.root().resolve("400/environ"));
        var facts = machine.facts();
        assertThat(related(facts)).containsExactly(300, 400);
        assertThat(omission(facts)).isEqualTo("{\"ofAnyUser\":false,\"uids\":[1003]}");
        assertThat(facts.at("/related/1/environ/failure").asText()).isIn("TIMEOUT", "NO_TIME");
    }

    private static String omission(JsonNode facts) {
        return String.valueOf(facts.get("relatedOmission"));
    }

    private static Set<Integer> related(JsonNode facts) {
        return facts.get("related").findValues("pid").stream()
                .map(JsonNode::asInt)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private FakeProc.FakeProcess titled(int pid, int parent, int group, int session) throws IOException {
        return process(pid, parent, group, session).overwrite();
    }

    private FakeProc.FakeProcess process(int pid, int parent, int group, int session) throws IOException {
        return proc.process(pid)
                .parent(parent)
                .group(group)
                .session(session)
                .namespacePids(pid + "\t7")
                .environ("HOME=/")
                .uid(USER);
    }

    private static void writeCgroup(FakeProc.FakeProcess process, String content) throws IOException {
        Files.writeString(process.file("cgroup"), content);
    }
}
