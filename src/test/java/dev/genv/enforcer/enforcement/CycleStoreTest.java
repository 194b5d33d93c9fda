package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.EventLog;
import dev.genv.enforcer.enforcement.report.SavedState;
import dev.genv.enforcer.enforcement.report.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.report.SavedState.SavedKind;
import dev.genv.enforcer.enforcement.report.Store;
import dev.genv.enforcer.enforcement.report.Store.Restored;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import dev.genv.enforcer.testsupport.fake.Records;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.AbstractList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is reported of a store that lacks something: an error while a part is restored costs that part, and not the start. */
class CycleStoreTest {
    private static final HostBuilder SEEN = host().devices(1).with(process(7).uses(0));

    private final FakeTime time = new FakeTime();
    private final EventLog log = new EventLog();
    private final FakeHost node = new FakeHost(SEEN);
    private boolean isAvailable = true;
    private Runnable onBegin = () -> {};

    @Test
    void theServiceStartsWithoutWhatCannotBeRestored() {
        var last = new SavedCycle(0, 0, Map.of(), 1, 1, FakeTime.START, FakeTime.START, 7);
        var enforcer = start(new Restored(
                Optional.of(last),
                true,
                poison(),
                new Poison<>(),
                new Poison<>(),
                new Poison<>(),
                7,
                1,
                List.of("history of gpu-1"),
                false));
        var report = enforcer.runCycle().orElseThrow();
        assertThat(problems(report)).singleElement().satisfies(problem -> {
            assertThat(problem.code()).isEqualTo(ProblemCode.DATA_NOT_RESTORED);
            assertThat(problem.detail())
                    .isEqualTo(
                            "history of gpu-1, events, deliveries, violations, accounts, history of the state, pending"
                                    + " terminations, policy");
        });
        assertThat(report.actions())
                .extracting(action -> action.result().outcome())
                .as("it may have been signalled")
                .containsExactly(Outcome.SKIPPED_UNCONFIRMED);
        assertThat(problems(enforcer.runCycle().orElseThrow())).isEmpty();
    }

    @Test
    void nothingIsReportedIfThereIsNothingToRestore() {
        assertThat(problems(start(Restored.nothing(false)).runCycle().orElseThrow()))
                .isEmpty();
    }

    @Test
    void eventsThatAreNoLongerInTheLogAreReportedAsLostOnce() {
        var enforcer = start(Restored.nothing(false));
        isAvailable = false;
        var events = Collections.<EventContent>nCopies(
                EventLog.MAX_EVENTS + 5, new EventContent.ServiceStarted("1", "enforce"));
        log.append(FakeTime.START, events);
        assertThat(problems(enforcer.runCycle().orElseThrow())).isEmpty();
        isAvailable = true;
        assertThat(problems(enforcer.runCycle().orElseThrow())).isEmpty();
        assertThat(problems(enforcer.runCycle().orElseThrow())).singleElement().satisfies(problem -> {
            assertThat(problem.code()).isEqualTo(ProblemCode.DATA_UNWRITABLE);
            assertThat(problem.detail()).startsWith("the database lacks 7 events");
        });
        assertThat(problems(enforcer.runCycle().orElseThrow())).isEmpty();
    }

    /** What passes while the hosts are observed does not count, and neither does their time limit. */
    @ParameterizedTest
    @CsvSource({"20, SIGNALLED", "21, SKIPPED_STALE"})
    void timeThatPassesBetweenTheObservationAndAnActionCounts(int seconds, Outcome outcome) {
        node.observeWith(() -> {
            time.pass(Duration.ofSeconds(5));
            return SEEN.snapshot();
        });
        onBegin = () -> time.pass(Duration.ofSeconds(seconds));
        var report = start(Restored.nothing(false)).runCycle().orElseThrow();
        assertThat(report.actions())
                .extracting(action -> action.result().outcome())
                .containsExactly(outcome);
    }

    private Enforcer start(Restored restored) {
        var config = EnforcerConfigBuilder.enforcerConfig(node)
                .rules(Map.of(KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE), Limits.NONE)
                .interval(Duration.ofSeconds(10))
                .build();
        var records = new Records(new ViolationRegistry(100), log, store(restored), List.of());
        return EnforcerFactory.create(config, records, time.ticker(), List.of());
    }

    private static List<Problem> problems(CycleReport report) {
        return report.fleet().snapshots().getFirst().problems();
    }

    /** A store that keeps nothing, but restores this, and may not be available. */
    private Store store(Restored restored) {
        return (Store) Proxy.newProxyInstance(
                Store.class.getClassLoader(),
                new Class<?>[] {Store.class},
                (_, method, arguments) -> switch (method.getName()) {
                    case "restore" -> restored;
                    case "commit" -> isAvailable;
                    case "begin" -> {
                        onBegin.run();
                        yield null;
                    }
                    default -> method.invoke(new NoStore(), arguments);
                });
    }

    /** Entries of a wrong type in every kind. */
    private static SavedState poison() {
        var state = SavedState.EMPTY;
        for (var kind : Enforcer.savedKinds()) {
            state = with(state, kind);
        }
        return state;
    }

    @SuppressWarnings("unchecked")
    private static SavedState with(SavedState state, SavedKind<?, ?> kind) {
        var limits = Limits.NONE;
        return state.with((SavedKind<Record, Record>) (SavedKind<?, ?>) kind, Map.of(limits, limits));
    }

    /** A list that fails when it is read. */
    private static final class Poison<E> extends AbstractList<E> {
        @Override
        public E get(int index) {
            throw new IllegalStateException("poison");
        }

        @Override
        public int size() {
            return 1;
        }
    }
}
