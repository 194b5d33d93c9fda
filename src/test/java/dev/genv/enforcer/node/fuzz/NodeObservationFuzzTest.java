package dev.genv.enforcer.node.fuzz;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.AccessFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.HostFacts.EnforcerFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.HostFacts.MachineFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.node.fuzz.FuzzNode.Evidence;
import dev.genv.enforcer.node.gpu.NvidiaSmi;
import dev.genv.enforcer.node.proc.AncestorReader;
import dev.genv.enforcer.node.proc.LivenessReader;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.proc.ProcessReader;
import dev.genv.enforcer.observation.Observer;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.fake.Mutations;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
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
    private static final long UPTIME = 10_000_000;

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
    void corruptedInputAffectsNoOtherUser() throws Exception {
        for (var seed = SEED; seed < SEED + RUNS; seed++) {
            var world = nodeFor(seed / RUNS_PER_NODE);
            var now = world.original.corrupted(new Mutations(seed));
            check(seed, world, now, observe(world, now));
        }
        assertThat(actions).as("corruption has consequences").isGreaterThan(RUNS / 20);
        assertThat(unaffectedUsers).as("people who are not affected").isGreaterThan(RUNS);
        assertThat(complete).as("complete observations").isGreaterThan(RUNS / 20);
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

    /** Observes like the node, without child processes and state files. */
    private static Snapshot observe(FuzzNode world, Evidence now) throws Exception {
        world.write(now.environs());
        var proc = new ProcFs(world.proc.root());
        var reader = new ProcessReader(proc);
        var gpus = new GpuFacts(answer(now.processes()), answer(now.gpus()));
        var processes = reader.readAll(NvidiaSmi.listedPids(gpus), List.of());
        var state = new StateFacts(
                new Directory.Present(new FileId(1, 1), 0),
                LockFacts.NOT_ATTEMPTED,
                file(now.envs()),
                file(now.devices()));
        var settings = new NodeBuilder(world.proc.root(), world.proc.root()).settings();
        var facts = new HostFacts(
                new MachineFacts("", "", "", Reading.of("/"), UPTIME, UPTIME),
                new AccessFacts(1, -1, AccessFacts.FIRST_PID_NAMESPACE, "", true),
                new AccountFacts(
                        text(world.passwd()),
                        text(""),
                        List.of(),
                        AccountFacts.NOT_ASKED,
                        List.of(),
                        List.of(),
                        List.of()),
                settings.programs().stream()
                        .map(_ -> Reading.<ProgramFile>failed(Failure.ABSENT, ""))
                        .toList(),
                gpus,
                processes,
                AncestorReader.read(reader, processes),
                null,
                state,
                new LivenessReader(proc).read(List.of(state.envs()), processes),
                EnforcerFacts.NONE,
                List.of());
        return new Observer(settings).observe(facts, Set.of(), false, 0);
    }

    private static StateFile file(@Nullable String content) {
        var bytes = Evidence.bytes(content);
        return bytes == null ? new StateFile.Absent() : new StateFile.Present(Bytes.of(bytes));
    }

    private static Reading<ToolOutput> answer(String text) {
        return Reading.of(new ToolOutput(0, Bytes.of(text.getBytes(UTF_8)), Bytes.EMPTY));
    }

    private static Reading<TextFile> text(String content) {
        return Reading.of(new TextFile(content, Bytes.of(content.getBytes(UTF_8))));
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
}
