package dev.genv.enforcer.remote.genv;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.device.Device;
import dev.genv.enforcer.model.device.Device.Attachment;
import dev.genv.enforcer.model.device.DeviceUsage;
import dev.genv.enforcer.model.device.Memory;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.remote.CommandRequest;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GenvObservationTest extends GenvMachineSuite {
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
        assertThat(observation.readOnlyReason()).isNull();
        assertThat(observation.machine()).isNull();
    }

    @Test
    void unusedMachineIsEmptyAndComplete() throws Exception {
        var snapshot = observe(FRESH_SNAPSHOT).snapshot();
        assertThat(snapshot.isComplete()).isTrue();
        assertThat(snapshot.processes()).isEmpty();
        assertThat(snapshot.listedDevices()).containsExactlyInAnyOrder(0, 1);
    }

    @Test
    void sendsTheSnapshotCommandOfGenv() throws Exception {
        observe(SNAPSHOT);
        assertThat(connection.requests())
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
        host(connection.thenReturn(SNAPSHOT), config(sudo, directory), List.of())
                .observe(Set.of());
        assertThat(connection.requests().getFirst().command()).isEqualTo(command.replace('#', '\''));
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
        var observation =
                host(connection.thenReturn(SNAPSHOT), config(), List.of("raz")).observe(Set.of());
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
        var gone = FRESH_SNAPSHOT;
        assertThat(ended(SNAPSHOT, pending)).isEmpty();
        assertThat(ended(gone, pending)).isEmpty();
        assertThat(ended(gone, pending)).containsExactly(pending);
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

    private Set<ProcessId> ended(String output, ProcessId pending) throws Exception {
        connection.thenReturn(output);
        return host.observe(Set.of(pending)).ended();
    }

    private static GpuProcess process(int pid, Membership membership, DeviceUsage... usage) {
        return new GpuProcess(new ProcessId(pid, 0), null, "", membership, List.of(usage));
    }
}
