package dev.genv.enforcer.recording;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Ownership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.model.Unlisted;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RecordedFieldsTest {
    private static final String HOSTILE = "a\u202e\"\\\n\u0000\ud83d é";
    private final Playback playback = new Playback();

    @Test
    void recordsEveryFieldOfASnapshotExceptItsProblems() {
        var snapshot = everything();
        playback.cycle(snapshot);

        var back = playback.snapshot("gpu-1");

        assertThat(back).usingRecursiveComparison().ignoringFields("problems").isEqualTo(snapshot);
        assertThat(back.problems()).isEmpty();
    }

    /** A component that is added to one of these must be recorded too, or be known to be no part of a decision. */
    @Test
    void knowsTheComponentsOfWhatItRecords() {
        assertThat(components(Snapshot.class))
                .containsExactly(
                        "host",
                        "processes",
                        "unlisted",
                        "environments",
                        "devices",
                        "listedDevices",
                        "uidsOfPids",
                        "subordinateUids",
                        "missing",
                        "problems");
        assertThat(components(GpuProcess.class))
                .containsExactly(
                        "id",
                        "uid",
                        "command",
                        "membership",
                        "membershipBy",
                        "usage",
                        "immunity",
                        "workload",
                        "account");
        assertThat(components(Unlisted.Holder.class)).containsExactly("process", "since", "used");
        assertThat(components(Environment.class))
                .containsExactly("eid", "uid", "username", "creation", "config", "pids", "kernelIds", "ownership");
        assertThat(components(Ownership.class)).containsExactly("dispute", "exempt", "uids", "account");
        assertThat(components(DeviceUsage.class)).containsExactly("device", "memory");
        assertThat(components(Attachment.class)).containsExactly("eid", "gpuMemory", "time");
    }

    private static Snapshot everything() {
        var unknown = new DeviceUsage(1, null);
        var immune = new Immunity(Immunity.Kind.EXEMPT, HOSTILE);
        var processes = List.of(
                new GpuProcess(
                        new ProcessId(1, 9_007_199_254_740_993L),
                        4_294_967_295L,
                        HOSTILE,
                        new Membership.InEnvironment(HOSTILE),
                        MembershipSource.ANCESTOR,
                        List.of(new DeviceUsage(0, new Memory(Long.MAX_VALUE)), unknown),
                        immune,
                        null,
                        HOSTILE),
                new GpuProcess(new ProcessId(2, 0), null, "", new Membership.Outside(), List.of(), null),
                new GpuProcess(new ProcessId(3, 5), 0L, "c", new Membership.Unknown(HOSTILE, true), List.of(), null),
                new GpuProcess(new ProcessId(4, 5), 0L, "c", Membership.NOT_PERMITTED, List.of(unknown), null));
        var environments = List.of(
                new Environment(
                        HOSTILE,
                        1000L,
                        HOSTILE,
                        "20/11/2026 09:22:28",
                        new Environment.Config(HOSTILE, "4g", 2),
                        List.of(1, -5, 7),
                        List.of("k1", HOSTILE),
                        new Ownership(HOSTILE, true, Set.of(1000L, 1001L), HOSTILE)),
                new Environment("b", null, null, "", new Environment.Config(null, null, null), List.of(), List.of()));
        var devices = List.of(
                new Device(
                        0, "15258mi", List.of(new Attachment(HOSTILE, "1g", HOSTILE), new Attachment("b", null, null))),
                new Device(1, null, List.of()));
        return new Snapshot(
                "gpu-1",
                processes,
                new Unlisted(
                        Map.of(),
                        List.of(new Unlisted.Holder(
                                new GpuProcess(
                                        new ProcessId(9, 8),
                                        7L,
                                        HOSTILE,
                                        new Membership.Outside(),
                                        List.of(new DeviceUsage(1, null)),
                                        immune),
                                77,
                                List.of(1, 2)))),
                environments,
                devices,
                Set.of(0, 5),
                Map.of(1, 1000L, 7, 0L),
                new SubordinateUids(List.of(new SubordinateUids.Range(1000, 100_000, 65_536))),
                Set.of(SnapshotPart.EVERY_PROCESS),
                List.of(new Problem(ProblemCode.GPU_LOST, "lost")));
    }

    private static List<String> components(Class<?> type) {
        return Arrays.stream(type.getRecordComponents())
                .map(component -> component.getName())
                .toList();
    }
}
