package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.Machine;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.RelatedOmission;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.ProcStat.Cgroup;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.table.FakeMachine.Hands;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.fake.FakeProc.FakeProcess;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** The processes at which both hands look besides the listed ones. All have the same user unless a test says otherwise. */
@Timeout(600)
@ParameterizedClass
@EnumSource
class RelationsTableTest {
    private static final int LISTED = 500;
    private static final long USER = 1003;
    private static final long OTHER_USER = 1004;
    private static final String UNIT = "/machine.slice/box.scope";

    @Parameter
    Hands hands;

    @TempDir
    Path folder;

    private FakeMachine fake;
    private FakeProc proc;
    private Machine machine;
    private Set<ProcessId> settled = Set.of();

    @BeforeEach
    void create() throws IOException {
        fake = new FakeMachine(hands, folder);
        proc = fake.proc;
        machine = fake.machine();
        fake.list(LISTED);
    }

    private HostFacts observe() throws Exception {
        return machine.observe(new ObservationRequest(Set.of(), settled));
    }

    /** The search has a limit of time, which a busy machine may reach. */
    private HostFacts facts() {
        return await().until(this::observe, facts -> facts.relatedOmission().equals(RelatedOmission.NONE));
    }

    private static Set<Integer> related(HostFacts facts) {
        return facts.related().stream().map(ProcessFacts::pid).collect(Collectors.toSet());
    }

    private FakeProcess titled(int pid, int parent, int group, int session) throws IOException {
        return process(pid, parent, group, session).overwrite();
    }

    private FakeProcess process(int pid, int parent, int group, int session) throws IOException {
        return proc.process(pid)
                .parent(parent)
                .group(group)
                .session(session)
                .namespacePids(pid + "\t7")
                .environ("HOME=/")
                .uid(USER);
    }

    private static Reading<Bytes> bytes(String text) {
        return Reading.of(Bytes.of(text.getBytes(StandardCharsets.US_ASCII)));
    }

    @Test
    void ancestorsEndWithAnotherUser() throws Exception {
        titled(LISTED, 400, 0, 0);
        process(400, 300, 0, 0);
        process(300, 200, 0, 0);
        process(200, 100, 0, 0).uid(OTHER_USER);
        process(100, 1, 0, 0);
        process(600, LISTED, 0, 0);
        var facts = facts();
        assertThat(related(facts)).containsExactlyInAnyOrder(300, 400);
        assertThat(facts.related())
                .filteredOn(process -> process.pid() == 300)
                .singleElement()
                .satisfies(parent -> {
                    assertThat(parent.executable()).isEqualTo(Reading.failed(Failure.SKIPPED, ""));
                    assertThat(parent.cgroup()).isEqualTo(bytes("0::/\n"));
                    assertThat(parent.namespacePids()).isEqualTo(bytes("300\t7"));
                });
    }

    @Test
    void atMost64Ancestors() throws Exception {
        titled(LISTED, 400, 0, 0);
        for (var pid = 400; pid > 300; pid--) {
            process(pid, pid - 1, 0, 0);
        }
        assertThat(related(facts())).hasSize(64).contains(400).doesNotContain(336);
    }

    @Test
    void sessionAndProcessGroup() throws Exception {
        titled(LISTED, 1, 450, 400);
        process(400, 1, 400, 400);
        process(450, 1, 450, 400);
        process(451, 1, 451, 400);
        process(452, 1, 451, 399);
        process(453, 1, 450, 400).uid(OTHER_USER);
        process(454, 1, 0, 0);
        assertThat(related(facts())).containsExactlyInAnyOrder(400, 450, 451);
        titled(LISTED, 1, 0, 0);
        assertThat(related(facts())).as("of another PID namespace").isEmpty();
    }

    /** The session of one process and the user of another one relate nothing. */
    @Test
    void relativesHaveTheUserOfTheProcessWhoseSessionOrUnitTheyShare() throws Exception {
        fake.list(LISTED, 501);
        titled(LISTED, 1, 0, 40);
        titled(501, 1, 0, 41).uid(OTHER_USER).cgroup(UNIT);
        process(50, 1, 0, 41);
        process(51, 1, 0, 40).uid(OTHER_USER);
        process(52, 1, 0, 0).cgroup(UNIT);
        process(53, 1, 0, 0).cgroup(UNIT).uid(OTHER_USER);
        assertThat(related(facts())).containsExactly(53);
    }

    @Test
    void unitOfAProcess() throws Exception {
        var id = "0123456789abcdef".repeat(4);
        var units = List.of(
                UNIT, "/system.slice/train.service", "/docker/" + id, "/kubepods/cri-" + id, "/" + id + "/inner");
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
            assertThat(related(facts())).as(path).isEqualTo(units.contains(path) ? Set.of(400) : Set.of());
            assertThat(Cgroup.parse("0::" + path + "\n").isUnit()).isEqualTo(units.contains(path));
        }
    }

    private static void writeCgroup(FakeProcess process, String content) throws IOException {
        Files.writeString(process.file("cgroup"), content);
    }

    @Test
    void intactAndSettledProcessesNeedNoRelations() throws Exception {
        process(400, 1, 0, 0);
        process(LISTED, 400, 0, 0);
        assertThat(related(facts())).isEmpty();
        titled(LISTED, 400, 0, 0);
        settled = Set.of(new ProcessId(LISTED, 1000));
        assertThat(related(facts())).isEmpty();
        settled = Set.of(new ProcessId(LISTED, 1001));
        assertThat(related(facts())).as("another process").containsExactly(400);
    }

    @Test
    void listedProcessIsNotRepeated() throws Exception {
        fake.list(400, LISTED, 600);
        titled(LISTED, 400, 0, 0).cgroup(UNIT);
        process(400, 300, 0, 0).cgroup("/a");
        process(300, 1, 0, 0);
        process(600, 1, 0, 0);
        var facts = facts();
        assertThat(related(facts)).containsExactly(300);
        var byPid = facts.processes().stream().collect(Collectors.toMap(ProcessFacts::pid, process -> process));
        assertThat(byPid.get(400).cgroup()).isEqualTo(bytes("0::/a\n"));
        assertThat(byPid.get(400).namespacePids()).isEqualTo(bytes("400\t7"));
        assertThat(byPid.get(LISTED).cgroup()).isEqualTo(bytes("0::" + UNIT + "\n"));
        assertThat(byPid.get(600).cgroup()).isEqualTo(bytes("0::/\n"));
    }

    @Test
    void ofTooManyTheLeaderComesFirstAndTheUnitLast() throws Exception {
        titled(LISTED, 1, 0, 9000).cgroup(UNIT);
        process(9000, 1, 0, 9000);
        for (var pid = 1000; pid < 1000 + HostFacts.MOST_RELATED; pid++) {
            process(pid, 1, 0, 9000);
        }
        process(50, 1, 0, 0).cgroup(UNIT);
        await().untilAsserted(() -> assertThat(related(observe()))
                .hasSize(HostFacts.MOST_RELATED)
                .contains(9000)
                .doesNotContain(50));
    }

    @Test
    void tooManyOfOneUserLeaveOutNoneOfAnother() throws Exception {
        fake.list(LISTED, 501);
        titled(LISTED, 400, 0, 399);
        process(400, 1, 0, 0);
        titled(501, 1, 0, 398).uid(OTHER_USER);
        process(9000, 1, 0, 398).uid(OTHER_USER);
        for (var pid = 1000; pid < 1600; pid++) {
            process(pid, 1, 0, 399);
        }
        await().untilAsserted(() -> {
            var facts = observe();
            assertThat(related(facts)).hasSize(HostFacts.MOST_RELATED).contains(400, 9000);
            assertThat(facts.relatedOmission()).isEqualTo(new RelatedOmission(false, Set.of(USER)));
        });
    }
}
