package dev.genv.enforcer.remote.genv;

import static dev.genv.enforcer.remote.genv.ScriptedCommandRunner.recorded;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.remote.AgentConfig;
import dev.genv.enforcer.remote.CommandRequest;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GenvObservationTest {
    private static final String SNAPSHOT = recorded("snapshot.txt");

    private final ScriptedCommandRunner host = new ScriptedCommandRunner();
    private final GenvAgent agent = new GenvAgent("gpu-1", config(true, "/var/tmp/genv"), false);

    @Test
    void readsWhatGenvPrints() throws Exception {
        var observation = observe(SNAPSHOT);
        var snapshot = observation.snapshot();
        assertThat(snapshot.host()).isEqualTo("gpu-1");
        assertThat(snapshot.isComplete()).isTrue();
        assertThat(snapshot.processes())
                .containsExactly(
                        process(
                                15990,
                                new Membership.InEnvironment("15971"),
                                new DeviceUsage(0, Memory.ofMebibytes(1100))),
                        process(63600, new Membership.Outside(), new DeviceUsage(0, Memory.ofMebibytes(777))),
                        process(
                                67708,
                                new Membership.InEnvironment("67609"),
                                new DeviceUsage(1, Memory.ofMebibytes(420)),
                                new DeviceUsage(2, null)));
        assertThat(snapshot.environments())
                .extracting(Environment::eid, Environment::username, Environment::uid)
                .containsExactly(
                        tuple("15971", "raz", 1003L),
                        tuple("67609", "zoë", 1004L),
                        tuple("a4f3c0de-7c2e-4b2f-9d0e-3f8f0f0c1d2e", null, 0L));
        assertThat(snapshot.devices())
                .contains(new Device(
                        0,
                        "15258mi",
                        List.of(
                                new Attachment("15971", "1000mi", "20/11/2026 09:22:28"),
                                new Attachment("67609", null, "20/11/2026 10:02:11"))));
        assertThat(snapshot.listedDevices()).containsExactlyInAnyOrder(0, 1, 2);
        assertThat(observation.gpuSource()).isEqualTo("genv");
        assertThat(observation.readOnlyReason()).isNull();
        assertThat(observation.machine()).isNull();
    }

    @Test
    void unusedMachineIsEmptyAndComplete() throws Exception {
        var snapshot = observe(recorded("snapshot-fresh.txt")).snapshot();
        assertThat(snapshot.isComplete()).isTrue();
        assertThat(snapshot.processes()).isEmpty();
        assertThat(snapshot.listedDevices()).containsExactlyInAnyOrder(0, 1);
    }

    @Test
    void sendsTheSnapshotCommandOfGenv() throws Exception {
        observe(SNAPSHOT);
        assertThat(host.requests())
                .containsExactly(new CommandRequest(
                        "env LC_ALL=C sudo -n genv usage snapshot", "", Duration.ofSeconds(10), 16 * 1024 * 1024));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "true  | /var/tmp/genv   | env LC_ALL=C sudo -n genv usage snapshot",
                "false | /var/tmp/genv   | env LC_ALL=C genv usage snapshot",
                "true  | /srv/genv       | env LC_ALL=C sudo -n GENV_TMPDIR=/srv/genv genv usage snapshot",
                "false | /srv/a b        | env LC_ALL=C #GENV_TMPDIR=/srv/a b# genv usage snapshot",
            })
    void passesTheStateDirectoryIfItIsNotTheDefault(boolean sudo, String directory, String command) throws Exception {
        var other = new GenvAgent("gpu-1", config(sudo, directory), false);
        other.observe(host.thenReturn(SNAPSHOT), Set.of());
        assertThat(host.requests().getFirst().command()).isEqualTo(command.replace('#', '\''));
    }

    @Test
    void everyObservationReportsUnknownIdentities() throws Exception {
        for (var round = 0; round < 2; round++) {
            assertThat(observe(SNAPSHOT).snapshot().problems())
                    .extracting(Problem::code)
                    .containsExactly(ProblemCode.IDENTITIES_UNKNOWN);
        }
    }

    @Test
    void reportsThatExemptionsAreUnsupported() throws Exception {
        var observation = new GenvAgent("gpu-1", config(true, "/var/tmp/genv"), true)
                .observe(new ScriptedCommandRunner().thenReturn(SNAPSHOT), Set.of());
        assertThat(observation.snapshot().problems())
                .extracting(Problem::code)
                .contains(ProblemCode.PROTECTION_UNKNOWN);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "\"1000mi\"     | \"4 big ones\"",
                "\"1000mi\"     | 17",
                "67609,         | \"x\",",
                "\"gpus\": 1    | \"gpus\": \"one\"",
                "\"uid\": 1003  | \"uid\": -1",
                "\"raz\"        | 17",
            })
    void invalidEntryDoesNotAffectOthers(String good, String bad) throws Exception {
        var corrupted = SNAPSHOT.replace(good, bad);
        assertThat(corrupted).isNotEqualTo(SNAPSHOT);
        var snapshot = observe(corrupted).snapshot();
        assertThat(snapshot.isComplete()).isTrue();
        assertThat(snapshot.processes()).hasSize(3);
        assertThat(snapshot.environments()).hasSize(3);
    }

    @Test
    void unreadableProcessMakesTheProcessListIncomplete() throws Exception {
        var snapshot = observe(SNAPSHOT.replace("\"pid\": 15990", "\"pid\": \"15990\""))
                .snapshot();
        assertThat(snapshot.processes()).extracting(GpuProcess::pid).containsExactly(63600, 67708);
        assertThat(snapshot.missing()).containsExactly(SnapshotPart.EVERY_PROCESS);
        assertThat(snapshot.problems()).extracting(Problem::code).contains(ProblemCode.ENTRY_UNREADABLE);
    }

    /** genv prints null also where it was not permitted to read it, and the rule against strangers would end everybody. */
    @Test
    void processWithUnreadableEnvironmentHasUnknownMembership() throws Exception {
        host.thenExit(0, SNAPSHOT, "[WARNING] Not enough permissions to query environment of process 63600\n");
        assertThat(membershipOf(63600, agent.observe(host, Set.of()))).isInstanceOf(Membership.Unknown.class);
        host.thenExit(0, SNAPSHOT, "[WARNING] Not enough permissions to query environment of process 636\n");
        assertThat(membershipOf(63600, agent.observe(host, Set.of()))).isEqualTo(new Membership.Outside());
        host.thenExit(0, SNAPSHOT, "x".repeat(4096));
        var observation = agent.observe(host, Set.of());
        assertThat(membershipOf(63600, observation)).isInstanceOf(Membership.Unknown.class);
        assertThat(membershipOf(15990, observation)).isEqualTo(new Membership.InEnvironment("15971"));
    }

    @Test
    void omitsProcessThatExitedBeforeGenvReadIt() throws Exception {
        host.thenExit(0, SNAPSHOT, "[DEBUG] Process 63600 already terminated\n");
        assertThat(agent.observe(host, Set.of()).snapshot().processes())
                .extracting(GpuProcess::pid)
                .containsExactly(15990, 67708);
    }

    @Test
    void processListedByAnEnvironmentHasUnknownMembership() throws Exception {
        var observation = observe(SNAPSHOT.replace("63600", "15971"));
        assertThat(membershipOf(15971, observation)).isInstanceOf(Membership.Unknown.class);
        assertThat(observation.snapshot().problems())
                .extracting(Problem::code)
                .contains(ProblemCode.MEMBERSHIP_UNKNOWN);
    }

    @Test
    void deviceMissingFromTheStateIsReported() throws Exception {
        var observation = observe(
                SNAPSHOT.replace("\"index\": 2,\n            \"gpu_memory\"", "\"index\": 9,\n \"gpu_memory\""));
        assertThat(observation.snapshot().listedDevices()).contains(9);
        assertThat(observation.snapshot().problems())
                .extracting(Problem::code)
                .contains(ProblemCode.DEVICE_UNDESCRIBED);
    }

    @Test
    void userNameWithSeveralUidsMakesOwnershipDisputed() throws Exception {
        var environments =
                observe(SNAPSHOT.replace("\"zo\\u00eb\"", "\"raz\"")).snapshot().environments();
        assertThat(environments.subList(0, 2)).allMatch(each -> each.ownership().isDisputed());
    }

    @Test
    void processAbsentFromTwoObservationsHasExited() throws Exception {
        var pending = observe(SNAPSHOT).snapshot().processes().getFirst().id();
        var gone = recorded("snapshot-fresh.txt");
        assertThat(agent.observe(host.thenReturn(SNAPSHOT), Set.of(pending)).ended())
                .isEmpty();
        assertThat(agent.observe(host.thenReturn(gone), Set.of(pending)).ended())
                .isEmpty();
        assertThat(agent.observe(host.thenReturn(gone), Set.of(pending)).ended())
                .containsExactly(pending);
        var other = observe(SNAPSHOT).snapshot().processes().getFirst().id();
        assertThat(other.pid()).isEqualTo(pending.pid());
        assertThat(other).isNotEqualTo(pending);
    }

    @Test
    void processOfEarlierObservationIsOlderThanTheNextOne() throws Exception {
        var before = observe(SNAPSHOT);
        var after = observe(SNAPSHOT);
        assertThat(after.snapshot().processes())
                .allMatch(process -> process.id().startTime() < before.ticks())
                .isEqualTo(before.snapshot().processes());
        assertThat(after.ticks()).isGreaterThan(before.ticks());
    }

    @ParameterizedTest
    @ValueSource(strings = {"Welcome to gpu-1!\n", "{ not this }\n", "\n\n", "{\"processes\": [\n", "\u00e9\u00ff\n"})
    void ignoresOutputOfALoginScript(String noise) throws Exception {
        assertThat(observe(noise + SNAPSHOT).snapshot().processes()).hasSize(3);
    }

    /** Whoever gets something printed in front of it, or around it, makes it unreadable, and forges nothing. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\n}\n",
                "{\n\"forged\": ",
                "{\"processes\": {\"processes\": []}, \"envs\": {\"envs\": []}, \"devices\": {\"devices\": []}, \"x\": ",
                "{\n\"processes\": {\"processes\": []}, \"envs\": {\"envs\": []}, \"devices\": {\"devices\": []}, \"x\": ",
                "{\n\"processes\": {\"processes\": []}, \"envs\": {\"envs\": []}, \"devices\": {\"devices\": []}, \"x\":\n",
                "{\n  \"processes\": {\"processes\": []}, \"envs\": {\"envs\": []}, \"devices\": {\"devices\": []}\n}\n",
                "x\n{\n  \"a\":\n",
                "no end of line: ",
            })
    void refusesForgedBeginning(String forged) {
        for (var end : List.of("", "}", "}\n", "\n", " ", "]}", "{\n", "{\n}\n")) {
            assertUnreadable(forged + SNAPSHOT + end, "");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "''          | is empty",
                "hello       | no snapshot in it",
                "[]          | no snapshot in it",
                "'{}'        | no snapshot in it",
                "'{#}#'       | is not an object",
                "'{# 5#}#'   | is not JSON",
                "'{##}#'     | is not an object",
                "'{#\"processes\": {\"processes\": []}#}#' | has no \"envs\"",
                "'{#\"envs\": {\"envs\": []}, \"devices\": {\"devices\": []}#}#' | is not an object",
            })
    void refusesOutputThatIsNoSnapshot(String output, String why) {
        assertUnreadable(output.replace('#', '\n'), why);
    }

    @Test
    void refusesTruncatedOrExtendedSnapshot() {
        assertUnreadable(SNAPSHOT.substring(0, SNAPSHOT.length() - 3), "does not end where");
        assertUnreadable(SNAPSHOT + "bye\n", "does not end where");
        assertUnreadable(SNAPSHOT + SNAPSHOT, "begins more than once");
        assertUnreadable(SNAPSHOT.replace("\n", "\r\n"), "no snapshot in it");
        assertUnreadable(SNAPSHOT.replace("raz", "\u00ff"), "is not UTF-8");
    }

    @Test
    void quotedOutputIsTruncatedAndEscaped() {
        assertThatThrownBy(() -> observe("\u001b[2J" + "secret ".repeat(100)))
                .isInstanceOf(UnreachableException.class)
                .message()
                .hasSizeLessThan(250)
                .doesNotContain("\u001b");
    }

    private void assertUnreadable(String output, String why) {
        assertThatThrownBy(() -> observe(output))
                .isInstanceOfSatisfying(
                        UnreachableException.class,
                        refusal -> assertThat(refusal.code()).isEqualTo(ProblemCode.ANSWER_UNREADABLE))
                .hasMessageContaining(why);
    }

    private Observation observe(String output) throws UnreachableException, InterruptedException {
        return agent.observe(host.thenReturn(output), Set.of());
    }

    private static Membership membershipOf(int pid, Observation observation) {
        return observation.snapshot().processes().stream()
                .filter(process -> process.pid() == pid)
                .findFirst()
                .orElseThrow()
                .membership();
    }

    private static GpuProcess process(int pid, Membership membership, DeviceUsage... usage) {
        return new GpuProcess(new ProcessId(pid, 0), null, "", membership, List.of(usage));
    }

    static AgentConfig config(boolean sudo, String directory) {
        return new AgentConfig(
                directory,
                Duration.ofSeconds(5),
                "nvidia-smi",
                Duration.ofSeconds(30),
                Duration.ofSeconds(10),
                sudo,
                List.of(),
                true,
                Duration.ZERO);
    }
}
