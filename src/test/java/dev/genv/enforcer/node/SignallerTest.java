package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Machine.Instruction;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.SignalCheck;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.linux.ProcStat.Addresses;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.node.NodeMachine.Signaller;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.observation.ImmunityRules;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron;
import dev.genv.enforcer.observation.process.IdentityFlapping;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.Fifo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Nothing here is ever signalled but children of the test's own. */
@Timeout(600)
class SignallerTest {
    private static final int SIGTERM = 15;
    private static final Membership MINE = new Membership.InEnvironment("15971");
    private final IdentityFlapping identityFlapping = new IdentityFlapping();
    private final Signaller signaller = Signallers.of(Path.of("/proc"), Path.of("/proc"));

    @Test
    void sendsSigtermToAProcess() throws IOException {
        try (var child = Child.inEnvironment("15971")) {
            assertThat(terminate(signaller, process(child, MINE))).isEqualTo(Result.of(Outcome.SIGNALLED));
            assertThat(child.awaitExit()).isEqualTo(128 + SIGTERM);
        }
    }

    @Test
    void sendsSigtermToAProcessOutsideAllEnvironments() throws IOException {
        try (var child = Child.withEnvironment(Map.of())) {
            assertThat(terminate(signaller, process(child, new Membership.Outside())))
                    .isEqualTo(Result.of(Outcome.SIGNALLED));
            assertThat(child.awaitExit()).isEqualTo(128 + SIGTERM);
        }
    }

    @Test
    void processWithReusedPidIsNotSignalled() throws IOException {
        try (var child = Child.inEnvironment("15971")) {
            var earlier = new ProcessId(child.pid(), child.startTime() - 1);
            assertThat(terminate(signaller, process(earlier, FileCalls.effectiveUid(), MINE)))
                    .isEqualTo(Result.of(Outcome.ALREADY_GONE));
            assertThat(child.isAlive()).isTrue();
        }
    }

    /** It writes over its environment all the time, so that it is never what it was a moment before. */
    @Test
    void signalsAProcessWhoseEnvironmentDiffersAtEveryCheck() throws IOException {
        try (var child = Child.inEnvironment("15971")) {
            var checked = process(child, new Membership.InEnvironment("another"));
            assertNotSignalled(child, checked);
            assertNotSignalled(child, process(child, new Membership.Outside()));
            assertThat(terminate(signaller, checked)).isEqualTo(Result.of(Outcome.SIGNALLED));
            assertThat(child.awaitExit()).isEqualTo(128 + SIGTERM);
        }
    }

    @Test
    void signalsAProcessWhoseUidDiffersAtEveryCheck() throws IOException {
        try (var child = Child.inEnvironment("15971")) {
            var id = new ProcessId(child.pid(), child.startTime());
            assertNotSignalled(child, process(id, FileCalls.effectiveUid() + 1, MINE));
            assertNotSignalled(child, process(id, FileCalls.effectiveUid() + 2, MINE));
            assertThat(terminate(signaller, process(id, FileCalls.effectiveUid() + 3, MINE)))
                    .isEqualTo(Result.of(Outcome.SIGNALLED));
            assertThat(child.awaitExit()).isEqualTo(128 + SIGTERM);
        }
    }

    @Test
    void countsChangesOfTheUidAndOfTheMembershipTogether() throws IOException {
        try (var child = Child.inEnvironment("15971")) {
            var id = new ProcessId(child.pid(), child.startTime());
            assertNotSignalled(child, process(id, FileCalls.effectiveUid() + 1, MINE));
            assertNotSignalled(child, process(child, new Membership.Outside()));
            assertThat(terminate(signaller, process(id, FileCalls.effectiveUid() + 1, MINE)))
                    .isEqualTo(Result.of(Outcome.SIGNALLED));
        }
    }

    /** A decision that nobody waits for any longer is not carried out. */
    @Test
    void interruptedThreadSignalsNothing() throws IOException {
        try (var child = Child.inEnvironment("15971")) {
            var process = process(child, MINE);
            Thread.currentThread().interrupt();
            assertThat(terminate(signaller, process).outcome()).isEqualTo(Outcome.FAILED);
            assertThat(Thread.interrupted()).isTrue();
            assertThat(child.isAlive()).isTrue();
        }
    }

    @Test
    void exitedProcessIsAlreadyGone() throws IOException {
        GpuProcess process;
        try (var child = Child.inEnvironment("15971")) {
            process = process(child, MINE);
        }
        assertThat(terminate(signaller, process)).isEqualTo(Result.of(Outcome.ALREADY_GONE));
    }

    @Test
    void pidThatIsNowThatOfAThreadIsNoProcess() throws IOException {
        var thread = new ProcessId(CurrentProcess.otherThread(), 1);
        assertThat(terminate(signaller, process(thread, FileCalls.effectiveUid(), MINE)))
                .isEqualTo(Result.of(Outcome.ALREADY_GONE));
    }

    @Test
    void processInAnotherEnvironmentIsNotSignalled() throws IOException {
        try (var child = Child.inEnvironment("15971")) {
            for (var checked : List.of(
                    new Membership.InEnvironment("15972"), new Membership.Outside(), new Membership.Unknown("why"))) {
                assertNotSignalled(child, process(child, checked));
            }
        }
    }

    @Test
    void processWithAnotherUidIsNotSignalled() throws IOException {
        try (var child = Child.inEnvironment("15971")) {
            var id = new ProcessId(child.pid(), child.startTime());
            assertNotSignalled(child, process(id, FileCalls.effectiveUid() + 1, MINE));
            assertNotSignalled(child, process(id, null, MINE));
        }
    }

    @Test
    void processThatBecameExemptIsNotSignalled() throws IOException {
        try (var child = Child.inEnvironment("15971")) {
            var result = terminate(signaller, process(child, MINE), Set.of(FileCalls.effectiveUid()));
            assertThat(result.outcome()).isEqualTo(Outcome.SKIPPED_EXEMPT);
            assertThat(result.detail()).contains("uid " + FileCalls.effectiveUid());
            assertThat(child.isAlive()).isTrue();
        }
    }

    @Test
    void neverSignalsInitItselfOrAnInvalidPid() throws IOException {
        var proc = new ProcFs(Path.of("/proc"));
        for (var pid : new int[] {
            1, 0, -1, Integer.MIN_VALUE, (int) ProcessHandle.current().pid()
        }) {
            var started = proc.stat(pid).map(ProcStat::startTime).orElse(0L);
            var process = process(new ProcessId(pid, started), 0L, MINE);
            assertThat(terminate(signaller, process).outcome()).isEqualTo(Outcome.SKIPPED_PROTECTED);
        }
    }

    /** The kernel's threads are told by what /proc says of them; this one is a child of ours in truth. */
    @Test
    void neverSignalsAKernelThread(@TempDir Path folder) throws IOException {
        try (var child = Child.withEnvironment(Map.of())) {
            var proc = new FakeProc(folder);
            proc.process(child.pid()).kernelThread().uid(0);
            var process = process(new ProcessId(child.pid(), 1000), 0L, new Membership.Unknown("any"));
            assertThat(terminate(Signallers.of(folder, folder), process).outcome())
                    .isEqualTo(Outcome.SKIPPED_PROTECTED);
            assertThat(child.isAlive()).isTrue();
        }
    }

    @Test
    void failsWhenStatIsUnreadable(@TempDir Path folder) throws IOException {
        try (var child = Child.inEnvironment("15971")) {
            Files.writeString(new FakeProc(folder).process(child.pid()).file("stat"), "nonsense");
            var result = terminate(Signallers.of(folder, folder), process(child, MINE));
            assertThat(result.outcome()).isEqualTo(Outcome.FAILED);
            assertThat(child.isAlive()).isTrue();
        }
    }

    @Test
    void processWithHangingEnvironmentIsNotSignalled(@TempDir Path folder) throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            var fake = new FakeProc(folder).process(child.pid()).startTime(child.startTime());
            fake.uid(FileCalls.effectiveUid());
            Files.delete(fake.file("environ"));
            Fifo.at(fake.file("environ"));
            var result = terminate(Signallers.of(folder, folder), process(child, MINE));
            assertThat(result.outcome()).isEqualTo(Outcome.FAILED);
            assertThat(child.isAlive()).isTrue();
        }
    }

    @Test
    void rootSignalsTheProcessOfAnotherUser() throws IOException {
        Requirements.root();
        Requirements.program("/usr/bin/setpriv", "util-linux");
        try (var child = Child.ofUser(65534)) {
            var id = new ProcessId(child.pid(), child.startTime());
            assertNotSignalled(child, process(id, 0L, new Membership.Outside()));
            assertThat(terminate(signaller, process(id, 65534L, new Membership.Outside())))
                    .isEqualTo(Result.of(Outcome.SIGNALLED));
            assertThat(child.awaitExit()).isEqualTo(128 + SIGTERM);
        }
    }

    private void assertNotSignalled(Child child, GpuProcess process) {
        var result = terminate(signaller, process);
        assertThat(result.outcome()).isEqualTo(Outcome.FAILED);
        assertThat(result.detail()).isNotBlank();
        assertThat(child.isAlive()).isTrue();
    }

    private Result terminate(Signaller sender, GpuProcess process) {
        return terminate(sender, process, Set.of());
    }

    private Result terminate(Signaller sender, GpuProcess process, Set<Long> exempt) {
        var rules = new ImmunityRules((int) ProcessHandle.current().pid(), exempt, List.of());
        var order = new Instruction.Terminate(
                process.id(),
                false,
                new Instruction.Expected(process.uid(), exempt, Set.of(), null, Addresses.UNKNOWN),
                new SignalCheck(
                        process,
                        ProgramEnviron.unavailable(new Membership.Unknown("")),
                        _ -> rules,
                        rules,
                        identityFlapping));
        return sender.terminate(order, List.of());
    }

    private static GpuProcess process(Child child, Membership membership) throws IOException {
        return process(new ProcessId(child.pid(), child.startTime()), FileCalls.effectiveUid(), membership);
    }

    private static GpuProcess process(ProcessId id, @Nullable Long uid, Membership membership) {
        return new GpuProcess(id, uid, "sleep", membership, List.of());
    }
}
