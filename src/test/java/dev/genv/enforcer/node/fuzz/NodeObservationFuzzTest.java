package dev.genv.enforcer.node.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.linux.Environ;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.node.fuzz.FuzzNode.Evidence;
import dev.genv.enforcer.node.proc.LivenessReader;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.observation.ConfiguredUsers.ExemptUsers;
import dev.genv.enforcer.observation.Findings;
import dev.genv.enforcer.observation.LiveState;
import dev.genv.enforcer.observation.StateParser;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * On a machine where nobody breaks a rule, a part of what the service reads is corrupted: the state files, the output of nvidia-smi, the
 * environs of processes. All rules are enforced, and two things must hold:
 *
 * <ul>
 *   <li>No observation and no check ends with an exception.
 *   <li>A person whose data is unchanged ({@link FuzzNode#unaffected}) loses nothing: no process is terminated, and no attachment that a
 *       job uses is detached. Another attachment that was forged in that person's name may be detached. The unit is the person, because a
 *       quota counts everything in the person's name.
 * </ul>
 *
 * {@code -Dfuzz.runs} and {@code -Dfuzz.seed} set the number of runs and the first seed.
 */
class NodeObservationFuzzTest {
    private static final long SEED = Long.getLong("fuzz.seed", 20_261_120);
    private static final int RUNS = Integer.getInteger("fuzz.runs", 400);
    /** A run with a child process takes as long as this number of runs without. */
    private static final int RUNS_DIVISOR = 20;

    /** Creating a node takes longer than observing it. */
    private static final int RUNS_PER_NODE = 25;

    private static final Policy ALL = KnownRules.policy(
            Rules.definitions().stream().collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE)),
            new Limits(FuzzNode.MAX_DEVICES, Map.of()));

    @TempDir
    Path folder;

    private int actions;
    private int unaffectedUsers;
    private int complete;

    @Test
    void corruptedFilesAffectNoOtherUser() throws Exception {
        for (var seed = SEED; seed < SEED + RUNS; seed++) {
            var random = new Mutations(seed);
            var world = nodeFor(seed / RUNS_PER_NODE);
            var now = random.withCorruptedState(world.original);
            check(seed, world, now, observe(world, now));
        }
        assertThat(actions).as("corruption has consequences").isGreaterThan(RUNS / 20);
        assertThat(unaffectedUsers).as("people who are not affected").isGreaterThan(RUNS);
        assertThat(complete).as("complete observations").isGreaterThan(RUNS / 10);
    }

    @Test
    void corruptedInputAffectsNoOtherUser() throws Exception {
        var runs = Math.max(1, RUNS / RUNS_DIVISOR);
        var smi = new FakeNvidiaSmi(folder.resolve("bin"));
        smi.fault("case $1 in *gpu=*) exec cat %1$s/gpus ;; esac; exec cat %1$s/processes".formatted(folder));
        var state = Files.createDirectory(folder.resolve("genv"));
        for (var seed = SEED; seed < SEED + runs; seed++) {
            var random = new Mutations(seed);
            var world = nodeFor(seed / RUNS_PER_NODE);
            var now = random.corrupted(world.original);
            write(state.resolve("envs.json"), Evidence.bytes(now.envs()));
            write(state.resolve("devices.json"), Evidence.bytes(now.devices()));
            Files.writeString(folder.resolve("gpus"), now.gpus());
            Files.writeString(folder.resolve("processes"), now.processes());
            world.write(now.environs());
            var host =
                    new NodeBuilder(state, smi.path()).proc(world.proc.root()).host();
            try {
                check(seed, world, now, host.observe(Set.of()));
            } finally {
                world.write(world.original.environs());
            }
        }
        assertThat(actions).as("corruption has consequences").isGreaterThan(runs / 20);
        assertThat(unaffectedUsers).as("people who are not affected").isGreaterThan(runs);
        assertThat(complete).as("complete observations").isGreaterThan(runs / 20);
    }

    /** Without corruption there is no action, so each action above is a consequence of it. */
    @Test
    void validInputCausesNoAction() throws Exception {
        for (var number = 0; number < 20; number++) {
            var world = nodeFor(number);
            var snapshot = observe(world, world.original);
            assertThat(snapshot.problems()).isEmpty();
            assertThat(ALL.check(fleet(snapshot), Set.of()).violations()).isEmpty();
            assertThat(world.unaffected(world.original)).isEqualTo(world.people);
        }
    }

    private void check(long seed, FuzzNode world, Evidence now, Snapshot snapshot) {
        var plan = ALL.check(fleet(snapshot), Set.of());
        actions += plan.actions().size();
        complete += snapshot.isComplete() ? 1 : 0;
        for (var person : world.unaffected(now)) {
            unaffectedUsers++;
            assertThat(plan.actions())
                    .as("%s, who is not affected; reproduce it with -Dfuzz.seed=%d -Dfuzz.runs=1", person, seed)
                    .noneMatch(planned -> ALL.enforces(planned) && person.isHarmedBy(planned.action()));
        }
    }

    /** Observes like the node, without child processes and files. */
    private static Snapshot observe(FuzzNode world, Evidence now) {
        var findings = new Findings();
        var proc = new ProcFs(world.proc.root());
        var processes = world.people.stream()
                .flatMap(person -> person.envs().stream()
                        .flatMap(env -> env.jobs().entrySet().stream()
                                .map(job -> new GpuProcess(
                                        new ProcessId(job.getValue(), 1000),
                                        person.uid(),
                                        "python",
                                        Environ.named(Environ.value(
                                                now.environs().getOrDefault(job.getValue(), new byte[0]))),
                                        List.of(new DeviceUsage(job.getKey(), Memory.ofMebibytes(900)))))))
                .toList();
        var envs = file(now.envs());
        var facts = new StateFacts(
                new Directory.Present(new FileId(1, 1), 0), LockFacts.NOT_ATTEMPTED, envs, file(now.devices()));
        var state = new StateParser("/var/tmp/genv").parse(null, facts);
        var liveness = new LivenessReader(proc).read(List.of(envs));
        var live = LiveState.of(state, liveness, new ExemptUsers(List.of(), world.accounts()), findings);
        var listed = IntStream.range(0, FuzzNode.DEVICES).boxed().collect(Collectors.toSet());
        return new Snapshot(
                "gpu-1",
                processes.stream()
                        .map(process -> process.with(
                                live.resolve(process.membership(), process.pid(), findings), process.membershipBy()))
                        .toList(),
                live.environments(),
                live.devices(listed, findings),
                listed,
                findings.missing(),
                findings.problems());
    }

    private static StateFile file(@Nullable String content) {
        var bytes = Evidence.bytes(content);
        return bytes == null ? new StateFile.Absent() : new StateFile.Present(Bytes.of(bytes));
    }

    private static Fleet fleet(Snapshot snapshot) {
        return new Fleet(List.of(snapshot), false);
    }

    private @Nullable FuzzNode latest;
    private long latestNumber;

    private FuzzNode nodeFor(long number) throws IOException {
        var world = latest;
        if (world == null || latestNumber != number) {
            world = new FuzzNode(folder.resolve("proc-" + number), new Mutations(number));
            latest = world;
            latestNumber = number;
        }
        return world;
    }

    private static void write(Path file, byte @Nullable [] content) throws IOException {
        if (content == null) {
            Files.deleteIfExists(file);
        } else {
            Files.write(file, content);
        }
    }
}
