package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Machine;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.observation.ProcessIdentity;
import dev.genv.enforcer.observation.ProcessIdentity.Present;
import dev.genv.enforcer.observation.table.FakeMachine.Hands;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.fake.FakeProc.FakeProcess;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** The ancestors that both hands read. All processes have the same user unless a test says otherwise. */
@Timeout(600)
@ParameterizedClass
@EnumSource
class AncestorsTableTest {
    private static final int LISTED = 500;
    private static final long USER = 1003;
    private static final long OTHER_USER = 1004;

    @Parameter
    Hands hands;

    @TempDir
    Path folder;

    private FakeMachine fake;
    private FakeProc proc;
    private Machine machine;

    @BeforeEach
    void create() throws IOException {
        fake = new FakeMachine(hands, folder);
        proc = fake.proc;
        machine = fake.machine();
        fake.list(LISTED);
    }

    private Map<Integer, ProcessFacts> ancestors() throws Exception {
        return byPid(machine.observe(new ObservationRequest(Set.of())).ancestors());
    }

    private static Map<Integer, ProcessFacts> byPid(List<ProcessFacts> processes) {
        return processes.stream().collect(Collectors.toMap(ProcessFacts::pid, Function.identity()));
    }

    /** The search has a limit of time, which a busy machine may reach. */
    private Map<Integer, ProcessFacts> awaitAncestors(Integer... pids) {
        return await().until(
                        this::ancestors,
                        found -> found.keySet().equals(Set.of(pids))
                                && found.values().stream()
                                        .noneMatch(process ->
                                                process.environ() instanceof Reading.Failed<?>(var failure, var _)
                                                        && failure == Failure.NO_TIME));
    }

    private FakeProcess titled(int pid, int parent) throws IOException {
        return process(pid, parent).overwrite();
    }

    private FakeProcess process(int pid, int parent) throws IOException {
        return proc.process(pid)
                .parent(parent)
                .namespacePids(pid + "\t7")
                .environ("HOME=/")
                .uid(USER);
    }

    private static Reading<Bytes> bytes(String text) {
        return Reading.of(Bytes.of(text.getBytes(StandardCharsets.US_ASCII)));
    }

    private static boolean isRead(ProcessFacts process) {
        return process.environ() instanceof Reading.Value;
    }

    private static final Reading<?> SKIPPED = Reading.failed(Failure.SKIPPED, "");

    @Test
    void ancestorsEndWithAnotherUser() throws Exception {
        titled(LISTED, 400);
        process(400, 300);
        process(300, 200);
        process(200, 100).uid(OTHER_USER);
        process(100, 1);
        process(600, LISTED);
        var found = awaitAncestors(200, 300, 400);
        assertThat(found.values()).filteredOn(process -> isRead(process)).hasSize(2);
        assertThat(found.get(300)).satisfies(parent -> {
            assertThat(parent.uid()).isEqualTo(Reading.of(USER));
            assertThat(parent.executable()).isEqualTo(SKIPPED);
            assertThat(parent.cgroup()).isEqualTo(SKIPPED);
            assertThat(parent.parent()).isEqualTo(SKIPPED);
            assertThat(parent.namespacePids()).isEqualTo(bytes("300\t7"));
            assertThat(parent.before()).isEqualTo(parent.after()).isInstanceOf(Reading.Value.class);
        });
        assertThat(found.get(200)).satisfies(other -> {
            assertThat(other.uid()).isEqualTo(Reading.of(OTHER_USER));
            assertThat(other.environ()).isEqualTo(SKIPPED);
            assertThat(other.before()).isEqualTo(other.after()).isInstanceOf(Reading.Value.class);
        });
    }

    @Test
    void ancestorsEndWithTheFirstProcess() throws Exception {
        titled(LISTED, 400);
        process(400, 1);
        process(1, 0);
        awaitAncestors(400);
    }

    @Test
    void atMost64Ancestors() throws Exception {
        titled(LISTED, 400);
        for (var pid = 400; pid > 300; pid--) {
            process(pid, pid - 1);
        }
        var found = await().until(this::ancestors, map -> map.size() >= HostFacts.MOST_STEPS);
        assertThat(found).hasSize(HostFacts.MOST_STEPS).containsKey(400).doesNotContainKey(336);
    }

    @Test
    void parentThatHasExitedIsAbsent() throws Exception {
        titled(LISTED, 400);
        var found = awaitAncestors(400);
        assertThat(found.get(400).before())
                .isEqualTo(found.get(400).after())
                .isInstanceOfSatisfying(
                        Reading.Failed.class,
                        failed -> assertThat(failed.failure()).isEqualTo(Failure.ABSENT));
    }

    /** As during an execve(2) that does not end. */
    @Test
    void parentWhoseStatDoesNotAnswerIsUnknown() throws Exception {
        titled(LISTED, 400);
        process(400, 300).hang("stat");
        var parent = ancestors().get(400);
        assertThat(parent.before())
                .isEqualTo(parent.after())
                .isInstanceOfSatisfying(
                        Reading.Failed.class,
                        failed -> assertThat(failed.failure()).isEqualTo(Failure.TIMEOUT));
    }

    /** An environment may list the ancestors of a process without an id: their environs say nothing. */
    @Test
    void environsAreReadForProcessesThatHaveOverwrittenTheirs() throws Exception {
        fake.list(LISTED, 501);
        process(400, 300);
        process(300, 1);
        process(LISTED, 400);
        assertThat(awaitAncestors(300, 400).values()).noneMatch(process -> isRead(process));
        titled(501, 300);
        var found = awaitAncestors(300, 400);
        assertThat(isRead(found.get(300))).isTrue();
        assertThat(isRead(found.get(400))).isFalse();
    }

    @Test
    void processThatNamesAnEnvironmentOrCannotBeReadNeedsNoAncestors() throws Exception {
        process(400, 1);
        process(LISTED, 400).environ("GENV_ENVIRONMENT_ID=a");
        assertThat(ancestors()).isEmpty();
        var environ = process(LISTED, 400).file("environ");
        Files.delete(environ);
        Files.createDirectory(environ);
        assertThat(ancestors()).isEmpty();
    }

    /** Any process can move the bounds of its environ. */
    @Test
    void environThatIsNotBetweenItsBoundsNeedsAncestors() throws Exception {
        process(400, 1);
        for (var field : List.of(50, 51)) { // of proc_pid_stat(5): where the environ begins and ends
            var process = process(LISTED, 400).environ("GENV_ENVIRONMENT_ID=a");
            var stat = Files.readString(process.file("stat")).strip().split(" ", -1);
            stat[field - 1] =
                    new BigInteger(stat[field - 1]).add(BigInteger.ONE).toString();
            Files.writeString(process.file("stat"), String.join(" ", stat) + "\n");
            assertThat(isRead(awaitAncestors(400).get(400))).isTrue();
        }
    }

    /** One pid is the process in the first namespace only. */
    @Test
    void emptyListOfNamespacesIsUnknown() throws Exception {
        for (var pids : List.of("", "500", "500\t7")) {
            process(LISTED, 1).namespacePids(pids);
            var facts = machine.observe(new ObservationRequest(Set.of()))
                    .processes()
                    .getFirst();
            assertThat(ProcessIdentity.of(facts))
                    .isInstanceOfSatisfying(
                            Present.class,
                            present -> assertThat(present.process().namespaces())
                                    .isEqualTo(pids.isEmpty() ? null : pids.split("\t", -1).length));
        }
    }

    /** The first thread shows neither the environ nor its addresses then. */
    @Test
    void environOfAnotherThreadDecidesIfTheFirstOneHasExited() throws Exception {
        process(400, 1);
        var thread = withoutFirstThread(LISTED, 400);
        thread.environ("GENV_ENVIRONMENT_ID=a");
        assertThat(ancestors()).isEmpty();
        thread.environ("HOME=/");
        assertThat(isRead(awaitAncestors(400).get(400))).isFalse();
        thread.overwrite();
        assertThat(isRead(awaitAncestors(400).get(400))).isTrue();
        withoutFirstThread(400, 1).environ("GENV_ENVIRONMENT_ID=b");
        assertThat(awaitAncestors(400).get(400).environ())
                .isInstanceOfSatisfying(
                        Reading.Value.class,
                        read -> assertThat(((EnvironFacts) read.value()).id())
                                .isEqualTo(Bytes.of("b".getBytes(StandardCharsets.US_ASCII))));
    }

    private FakeProcess withoutFirstThread(int pid, int parent) throws IOException {
        var process = process(pid, parent).withoutEnvironment().state('Z').threads(2);
        process.thread(pid).withoutEnvironment().state('Z');
        return process.thread(pid + 100_000);
    }

    /** Nothing shows then whether the program has overwritten it. */
    @Test
    void environOfAProcessThatMayNotBeTracedNeedsNone() throws Exception {
        process(400, 1);
        process(LISTED, 400).environ("GENV_ENVIRONMENT_ID=a").denyTrace();
        assertThat(ancestors()).isEmpty();
    }

    @Test
    void listedProcessIsNotRepeated() throws Exception {
        fake.list(400, LISTED, 600);
        titled(LISTED, 400);
        process(400, 300).cgroup("/a");
        process(300, 1);
        process(600, 1);
        var facts = await().until(
                        () -> machine.observe(new ObservationRequest(Set.of())),
                        seen -> seen.ancestors().size() == 1
                                && isRead(seen.ancestors().getFirst()));
        assertThat(facts.ancestors().getFirst().pid()).isEqualTo(300);
        assertThat(byPid(facts.processes()).get(400).namespacePids()).isEqualTo(bytes("400\t7"));
    }

    @Test
    void tooManyOfOneUserLeaveOutNoneOfAnother() throws Exception {
        var mine = 0;
        for (var pid = 1000; pid < 1010; pid++) {
            titled(pid, 2000 + 100 * (pid - 1000));
            for (var step = 0; step < 60; step++) {
                process(2000 + 100 * (pid - 1000) + step, 2001 + 100 * (pid - 1000) + step);
                mine++;
            }
        }
        assertThat(mine).isGreaterThan(HostFacts.MOST_ANCESTORS);
        titled(LISTED, 9000).uid(OTHER_USER);
        process(9000, 1).uid(OTHER_USER);
        fake.list(1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, LISTED);
        var found = await().until(this::ancestors, map -> map.size() >= HostFacts.MOST_ANCESTORS);
        assertThat(found).hasSize(HostFacts.MOST_ANCESTORS).containsKey(9000);
    }
}
