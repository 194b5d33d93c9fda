package dev.genv.enforcer.store;

import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** More than 1,500 actions on more than 100 machines in one cycle: each result is that of its action, also over a restart. */
@Timeout(600)
class ManyActionsTest extends StoreFixture {
    private static final int MACHINES = 101;
    private static final int OF_EACH = 15;

    @Test
    void eachDetachmentHasItsOwnResultAndOnlyFailedOnesAreRepeated() throws IOException {
        rules = Map.of(KnownRules.MAX_DEVICES_PER_USER, RuleMode.ENFORCE);
        devicesPerUser = new Limits(0, Map.of());
        others = machines(OF_EACH);
        restart();
        others.forEach(machine -> machine.answerWith(action -> Result.of(outcomeOf(action))));

        assertThat(cycle().actions())
                .hasSize(MACHINES * OF_EACH)
                .allSatisfy(done -> assertThat(done.result().outcome())
                        .isEqualTo(outcomeOf(done.planned().action())));
        var failed = new HashMap<String, List<Integer>>();
        for (var machine : others) {
            assertThat(machine.executed).hasSize(OF_EACH);
            var left = machine.executed.stream()
                    .filter(action -> outcomeOf(action) == Outcome.FAILED)
                    .map(ManyActionsTest::device)
                    .toList();
            failed.put(machine.name(), left);
            machine.executed.clear();
            machine.setSnapshot(machine(
                    machine.name(), left.stream().mapToInt(Integer::intValue).toArray()));
            machine.answerWith(_ -> Result.of(Outcome.DETACHED));
        }

        restart();
        cycle();
        assertThat(others)
                .allSatisfy(machine -> assertThat(machine.executed.stream().map(ManyActionsTest::device))
                        .containsExactlyInAnyOrderElementsOf(failed.getOrDefault(machine.name(), List.of())));
    }

    @Test
    void everyTerminationIsContinuedAfterARestart() throws IOException {
        others = machines(0);
        for (var machine : others) {
            var strays = host(machine.name()).devices(1);
            IntStream.rangeClosed(1, OF_EACH).forEach(pid -> strays.with("process %d on 0".formatted(pid)));
            machine.setSnapshot(strays);
        }
        restart();

        assertThat(cycle().actions())
                .hasSize(MACHINES * OF_EACH)
                .allSatisfy(done -> assertThat(done.result().outcome()).isEqualTo(Outcome.SIGNALLED));
        restart();
        for (var each = 0; each < 4; each++) {
            cycle();
        }
        assertThat(others)
                .allSatisfy(machine -> assertThat(machine.executed)
                        .extracting(action -> ((Action.Terminate) action).signal())
                        .hasSize(2 * OF_EACH)
                        .startsWith(IntStream.range(0, OF_EACH)
                                .mapToObj(_ -> Signal.TERM)
                                .toArray(Signal[]::new))
                        .endsWith(IntStream.range(0, OF_EACH)
                                .mapToObj(_ -> Signal.KILL)
                                .toArray(Signal[]::new)));
    }

    private static List<FakeHost> machines(int attached) {
        var machines = new ArrayList<FakeHost>();
        for (var number = 0; number < MACHINES; number++) {
            machines.add(new FakeHost(
                    machine("gpu-" + number, IntStream.range(0, attached).toArray())));
        }
        return machines;
    }

    /** An environment of alice with these devices. */
    private static HostBuilder machine(String name, int... devices) {
        var machine = host(name).devices(OF_EACH);
        for (var device : devices) {
            machine.with("env e%d of alice uid 1003 live 1003 on %1$d".formatted(device));
        }
        return machine;
    }

    private static int device(Action action) {
        return ((Action.Detach) action).device();
    }

    /** Different ones for the devices of a machine, and for a device on the machines. */
    private static Outcome outcomeOf(Action action) {
        return List.of(Outcome.DETACHED, Outcome.FAILED, Outcome.ALREADY_DETACHED)
                .get((device(action)
                                + action.host().length()
                                + action.host().charAt(action.host().length() - 1))
                        % 3);
    }
}
