package dev.genv.enforcer.remote.agent;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.AccessFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts;
import dev.genv.enforcer.host.HostFacts.EnforcerFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts;
import dev.genv.enforcer.host.HostFacts.LivenessFacts;
import dev.genv.enforcer.host.HostFacts.MachineFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Machine.SignalResult;
import dev.genv.enforcer.host.Machine.SignalResult.Kind;
import dev.genv.enforcer.host.Machine.SwapResult;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/** Facts in which every record occurs. */
public final class SampleFacts {
    private static final EnvironFacts ENVIRON = new EnvironFacts(512, bytes("15971"), "", true);
    private static final LockFacts LOCK = new LockFacts(
            LockFacts.Outcome.TIMEOUT,
            "",
            Duration.ofMillis(300),
            Duration.ofMillis(310),
            Reading.of(List.of(
                    new LockFacts.Holder(7, Reading.of(bytes("7 (x) S")), Reading.of(0L)),
                    new LockFacts.Holder(
                            -1, Reading.failed(Failure.ABSENT, ""), Reading.failed(Failure.DENIED, "not permitted")))));

    public static final HostFacts ALL = new HostFacts(
            new MachineFacts("0123", "c0d43b84", "NVRM version: x", Reading.of("/"), 360_000, 360_002),
            new AccessFacts(7, 0x1ffffffffffL, "pid:[4026531836]", "", true),
            new AccountFacts(
                    Reading.of(new AccountFacts.TextFile("1:2", bytes("root:x:0:0::/:/bin/sh\n"))),
                    Reading.of(new AccountFacts.TextFile("3:4", null)),
                    List.of("1009"),
                    Reading.of(bytes("carol:x:1009:\n")),
                    List.of(Reading.of(1009L), Reading.failed(Failure.ABSENT, "")),
                    List.of(Reading.of(600L)),
                    List.of(Reading.of(List.of(100L, 600L)), Reading.failed(Failure.TIMEOUT, "no answer"))),
            List.of(
                    Reading.of(new ProgramFile(new FileId(1, 2), 1_234_567_890_123L)),
                    Reading.failed(Failure.UNTRUSTED, "others can write /opt")),
            new GpuFacts(
                    Reading.of(new GpuFacts.ToolOutput(0, bytes("GPU-0, 7, 1\n"), Bytes.EMPTY)),
                    Reading.failed(Failure.TIMEOUT, "it hangs"),
                    true,
                    Reading.of(new GpuFacts.ToolOutput(0, bytes("0, 1, 2, 40, 5\n"), Bytes.EMPTY))),
            List.of(
                    new ProcessFacts(
                            7,
                            Reading.of(bytes("7 (x) S")),
                            Reading.of(1000L),
                            Reading.of(ENVIRON),
                            Reading.of(new ProgramFile(new FileId(1, 3), 0)),
                            Reading.of(bytes("7 (x) S"))),
                    new ProcessFacts(
                            8,
                            Reading.failed(Failure.ABSENT, ""),
                            Reading.failed(Failure.ABSENT, ""),
                            Reading.failed(Failure.NO_TIME, ""),
                            Reading.failed(Failure.UNTRUSTED, "others can change it"),
                            Reading.failed(Failure.ABSENT, ""))),
            List.of(new ProcessFacts(
                    9,
                    Reading.of(bytes("9 (x) S")),
                    Reading.of(1000L),
                    Reading.of(ENVIRON),
                    Reading.failed(Failure.SKIPPED, ""),
                    Reading.of(bytes("0::/x\n")),
                    Reading.of(bytes("9\t1")),
                    Reading.of(bytes("9 (x) S")))),
            new StateFacts(
                    new StateFacts.Directory.Absent(),
                    LOCK,
                    new StateFile.Absent(),
                    new StateFile.Present(bytes("[]"))),
            new StateFacts(
                    new StateFacts.Directory.Present(new FileId(-5, 4), 1_234_567_890_123L),
                    LOCK,
                    new StateFile.Present(bytes("{}")),
                    new StateFile.Unreadable(StateFile.Cause.CLOSED, 2, "")),
            new LivenessFacts(
                    Reading.of(
                            List.of(new LivenessFacts.LiveProcess(7, 1000L), new LivenessFacts.LiveProcess(8, null))),
                    new LivenessFacts.Kernels(Set.of("kernel-1.json"), "")),
            new EnforcerFacts(new EnforcerFacts.Other.Leased(3, 57), ""),
            List.of(new HostFacts.VerifiedProcess(9, Reading.failed(Failure.ABSENT, ""))));

    static final List<Answer> OTHER_ANSWERS = List.of(
            new Answer.ToSignals(true, List.of(new Answer.Signalled(7, new SignalResult(Kind.DENIED, "why")))),
            new Answer.ToSwap(new SwapResult.Locked(LOCK)));

    private SampleFacts() {}

    static Bytes bytes(String text) {
        return Bytes.of(text.getBytes(UTF_8));
    }
}
