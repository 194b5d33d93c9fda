package dev.genv.enforcer.e2e.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** A day in miniature: 5,000 cycles, in which processes, environments and attachments come and go, and nothing piles up. */
@Tag("long")
@EnabledIfSystemProperty(
        named = "suite.long",
        matches = "true",
        disabledReason = "needs the long suites: run with -P long -Dsuite.long=true")
class SoakIT {
    private static final int CYCLES = 5_000;
    private static final int WARM_UP_CYCLES = 1_000;
    private static final Duration TIME_OF_CYCLE = Duration.ofDays(1).dividedBy(CYCLES);
    private static final int GPUS = 4;
    private static final int PROCESSES = 16;
    private static final int STARTS_PER_CYCLE = 4;
    private static final int ENVIRONMENTS = 4;
    /** Above the largest pid of a kernel, so that no signal can reach a process. */
    private static final int FIRST_PID = 5_000_000;

    private static final long MAX_HEAP_GROWTH = 2 << 20;
    private static final int MAX_THREAD_GROWTH = 2;

    /** A reference is kept, because a logger without one loses its level. */
    private static final Logger LOG = Logger.getLogger("dev.genv.enforcer.enforcement");

    private final FakeTime time = new FakeTime();
    private final Deque<Integer> pids = new ArrayDeque<>();
    private final Deque<String> eids = new ArrayDeque<>();
    private final Path stateDirectory;
    private final FakeProc proc;
    private final FakeNvidiaSmi gpus;
    private final Enforcer enforcer;
    private int started;

    SoakIT(@TempDir Path folder) throws IOException {
        LOG.setLevel(Level.OFF); // a day's worth of lines
        assertThat(Integer.parseInt(
                        Files.readString(Path.of("/proc/sys/kernel/pid_max")).strip()))
                .isLessThan(FIRST_PID);
        stateDirectory = Files.createDirectory(folder.resolve("genv"));
        proc = new FakeProc(folder.resolve("proc"));
        proc.writeSelf("000001ffffffffff", "unconfined");
        // The real one would leave out processes that are not in the real /proc.
        gpus = new FakeNvidiaSmi(folder.resolve("bin"))
                .gpus(GPUS)
                .fault("case $1 in *compute-apps*) cat \"$0.processes\"; exit 0 ;; esac");
        var host =
                new NodeBuilder(stateDirectory, gpus.path()).proc(proc.root()).host();
        var modes = Rules.definitions().stream()
                .collect(Collectors.toMap(
                        rule -> rule, rule -> rule.equals(KnownRules.ENV_OWNER) ? RuleMode.AUDIT : RuleMode.ENFORCE));
        enforcer = EnforcerFactory.create(
                EnforcerConfigBuilder.enforcerConfig(host)
                        .rules(modes, new Limits(1, Map.of()))
                        .safetyLimits(new SafetyLimits(Duration.ofSeconds(60), Duration.ofSeconds(30), 10))
                        .build(),
                NoStore.records(new ViolationRegistry(100)),
                time.ticker(),
                List.of());
    }

    /** What could pile up. */
    private record ResourceUsage(long heap, int threads, int descriptors) {
        static ResourceUsage measure() throws IOException {
            for (var i = 0; i < 3; i++) {
                System.gc();
            }
            try (var descriptors = Files.list(Path.of("/proc/self/fd"))) {
                return new ResourceUsage(
                        ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed(),
                        ManagementFactory.getThreadMXBean().getThreadCount(),
                        (int) descriptors.count());
            }
        }
    }

    @Test
    void heapThreadsAndDescriptorsDoNotGrow() throws IOException {
        var terminations = 0;
        var detachments = 0;
        ResourceUsage before = null;
        for (var cycle = 0; cycle < CYCLES; cycle++) {
            if (cycle == WARM_UP_CYCLES) {
                before = ResourceUsage.measure();
            }
            replaceProcesses();
            var report = enforcer.runCycle().orElseThrow();
            assertThat(report.result()).as("%s", report.fleet().snapshots()).isNotEqualTo(CycleResult.FAILED);
            assertThat(report.fleet().snapshots().getFirst().isObservedCompletely())
                    .as("%s", report.fleet().snapshots())
                    .isTrue();
            for (var action : report.actions()) {
                switch (action.planned().action()) {
                    case Action.Terminate _ -> terminations++;
                    case Action.Detach _ -> detachments++;
                }
            }
            time.pass(TIME_OF_CYCLE);
        }
        enforcer.stop();
        var after = ResourceUsage.measure();
        System.out.printf(
                "SoakIT: %d cycles, %d terminations, %d detachments; before %s, after %s%n",
                CYCLES, terminations, detachments, before, after);
        assertThat(terminations).isGreaterThan(CYCLES);
        assertThat(detachments).isGreaterThan(CYCLES / 10);
        assertThat(before).isNotNull();
        assertThat(after.heap() - before.heap()).isLessThan(MAX_HEAP_GROWTH);
        assertThat(after.threads() - before.threads()).isLessThanOrEqualTo(MAX_THREAD_GROWTH);
        assertThat(after.descriptors() - before.descriptors()).isLessThanOrEqualTo(MAX_THREAD_GROWTH);
    }

    private void replaceProcesses() throws IOException {
        for (var i = 0; i < STARTS_PER_CYCLE || pids.size() < PROCESSES; i++) {
            startProcess();
        }
        while (pids.size() > PROCESSES) {
            endProcess(pids.remove());
        }
        var files = new StateFiles(stateDirectory);
        var device = 0;
        for (var eid : eids) {
            // Every environment is kept alive by the same process, and so they are of one user.
            files.env(eid, TestUsers.HONEST_UID, "bob", "100m", pids.getLast());
            files.device(device++, eid);
        }
        files.write();
        gpus.noProcesses();
        for (var pid : pids) {
            gpus.process(pid % GPUS, pid, Integer.toString(pid % 200));
        }
    }

    /** Some name no environment, some one that lives, some one that does not. */
    private void startProcess() throws IOException {
        var pid = FIRST_PID + started++;
        pids.add(pid);
        var process = proc.process(pid).uid(TestUsers.HONEST_UID);
        if (pid % 3 > 0) {
            process.environ("GENV_ENVIRONMENT_ID=" + (pid % 3 == 1 ? newEnvironment() : "gone-" + pid));
        }
    }

    private String newEnvironment() {
        var eid = "env-" + started;
        eids.add(eid);
        if (eids.size() > ENVIRONMENTS) {
            eids.remove();
        }
        return eid;
    }

    private void endProcess(int pid) throws IOException {
        var folder = proc.root().resolve(Integer.toString(pid));
        try (var files = Files.list(folder)) {
            for (var file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(folder);
    }
}
