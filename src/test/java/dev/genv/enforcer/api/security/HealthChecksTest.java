package dev.genv.enforcer.api.security;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.api.ServiceResource.StatusView;
import dev.genv.enforcer.api.view.HostView;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.GpuLossDetector;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.recording.DeviceHistory;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.HealthCheckResponse.Status;
import org.junit.jupiter.api.Test;

/** What the service says of itself: liveness, readiness, and its status. */
class HealthChecksTest {
    private static final CycleSchedule SCHEDULE = new CycleSchedule(Duration.ofSeconds(10), Duration.ofSeconds(5));
    private static final LocalDate TODAY = LocalDate.parse("2026-11-20");
    private static final String REASON = "Failed to initialize NVML: Unknown Error\u001b: recreate the container";
    private final FakeHost node = new FakeHost(host("gpu-1"));
    private final FakeTime time = new FakeTime();
    private boolean isListMissing;

    @Test
    void isDownAfterThreeCyclesThatNeedANewContainer() {
        var service = new Service(false, Map.of(), node);
        node.observeWith(HealthChecksTest::gpuNeedsNewContainer);
        assertThat(service.afterCycles(2).getStatus()).isEqualTo(Status.UP);

        var third = service.afterCycles(1);
        assertThat(third.getStatus()).isEqualTo(Status.DOWN);
        assertThat(third.getData().orElseThrow())
                .containsEntry("reason", "Failed to initialize NVML: Unknown Error\\u001b: recreate the container");
        assertThat(service.afterCycles(5).getStatus()).isEqualTo(Status.DOWN);

        node.setSnapshot(host("gpu-1"));
        assertThat(service.afterCycles(1).getStatus()).isEqualTo(Status.UP);
    }

    @Test
    void successfulCycleResetsTheCount() {
        var service = new Service(false, Map.of(), node);
        for (var i = 0; i < 3; i++) {
            node.observeWith(HealthChecksTest::gpuNeedsNewContainer);
            assertThat(service.afterCycles(2).getStatus()).isEqualTo(Status.UP);
            node.setSnapshot(host("gpu-1"));
            assertThat(service.afterCycles(1).getStatus()).isEqualTo(Status.UP);
        }
    }

    /** A failed cycle does not show whether the GPUs exist. */
    @Test
    void failedObservationNeitherCountsNorResets() {
        var service = new Service(false, Map.of(), node);
        node.observeWith(HealthChecksTest::gpuNeedsNewContainer);
        service.afterCycles(2);
        node.observeWith(() -> {
            throw new IllegalStateException("no answer");
        });
        assertThat(service.afterCycles(2).getStatus()).isEqualTo(Status.UP);
        node.observeWith(HealthChecksTest::gpuNeedsNewContainer);
        assertThat(service.afterCycles(1).getStatus()).isEqualTo(Status.DOWN);
    }

    @Test
    void ignoresContainerProblemsOfRemoteMachines() {
        var service = new Service(true, Map.of(), node);
        node.observeWith(HealthChecksTest::gpuNeedsNewContainer);
        assertThat(service.afterCycles(4).getStatus()).isEqualTo(Status.UP);
    }

    @Test
    void isDownWhenNoCycleHasEndedForTooLong() {
        var service = new Service(false, Map.of(), node);
        assertThat(service.afterCycles(1).getStatus()).isEqualTo(Status.UP);
        time.pass(Duration.ofSeconds(36));
        var late = service.live.call();
        assertThat(late.getStatus()).isEqualTo(Status.DOWN);
        assertThat(late.getData().orElseThrow()).containsEntry("reason", "no cycle has ended for 36 seconds");
    }

    @Test
    void isReadyWhenOneMachineIsObservedAndNamesTheOthers() {
        var other = new FakeHost(host("gpu-2"));
        var service = new Service(true, Map.of(), node, other);
        node.observeWith(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "refused");
        });
        service.afterCycles(1);
        assertThat(service.ready.call().getStatus()).isEqualTo(Status.UP);
        assertThat(service.ready.call().getData().orElseThrow()).containsEntry("gpu-1", "refused");

        other.setMissingPrivileges("KILL");
        service.afterCycles(1);
        assertThat(service.ready.call().getStatus()).isEqualTo(Status.DOWN);
    }

    @Test
    void hostHasNoNumbersOfWhatWasNotObserved() {
        var service = new Service(false, Map.of(), node);
        node.observeWith(() -> Snapshot.unseen("gpu-1", new Problem(ProblemCode.HOST_UNREACHABLE, "refused")));
        service.afterCycles(1);
        assertThat(service.host())
                .extracting(HostView::devices, HostView::processes, HostView::environments)
                .containsOnlyNulls();
        node.observeWith(() -> new Snapshot(
                "gpu-1", List.of(), List.of(), List.of(), Set.of(0), Set.of(SnapshotPart.ENVIRONMENTS), List.of()));
        service.afterCycles(1);
        assertThat(service.host())
                .extracting(HostView::devices, HostView::processes, HostView::environments)
                .containsExactly(1, 0, null);
    }

    /** Actions are held meanwhile. */
    @Test
    void isNotReadyWhileAnExemptUserIsNotFoundAndSaysWhy() {
        var service = new Service(false, Map.of(), node);
        var why = new Problem(
                ProblemCode.SETTING_USER_UNKNOWN, "user svc of GENV_ENFORCER_EXEMPT_USERS is the name of no account");
        node.observeWith(() -> new Snapshot(
                "gpu-1", List.of(), List.of(), List.of(), Set.of(), Set.of(SnapshotPart.EXEMPT_USERS), List.of(why)));
        service.afterCycles(1);
        var answer = service.ready.call();
        assertThat(answer.getStatus()).isEqualTo(Status.DOWN);
        assertThat(answer.getData().orElseThrow())
                .containsEntry("reason", "exempt users are not found, so nothing is done to who may be one of them")
                .containsEntry("gpu-1", why.detail());
    }

    @Test
    void isNotReadyWhileAPrivilegeIsMissingAndNamesIt() {
        var service = new Service(false, Map.of(), node);
        service.afterCycles(1);
        assertThat(service.ready.call().getStatus()).isEqualTo(Status.UP);

        var why = new Problem(ProblemCode.MISSING_PRIVILEGE, "KILL: run with --cap-add KILL");
        node.observeWith(() -> new Snapshot("gpu-1", List.of(), List.of(), List.of(), Set.of(), Set.of(), List.of(why)))
                .setMissingPrivileges("KILL");
        service.afterCycles(1);
        var answer = service.ready.call();
        assertThat(answer.getStatus()).isEqualTo(Status.DOWN);
        assertThat(answer.getData().orElseThrow())
                .containsEntry("reason", "privileges are missing")
                .containsEntry("gpu-1", why.detail());
        assertThat(service.missingPrivileges()).containsExactly("KILL");
    }

    @Test
    void readinessAndHostsAgreeOnAPrivilegeThatOnlyADeniedSignalShows() {
        var service = new Service(false, Map.of(KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE), node);
        node.setSnapshot(host("gpu-1").devices(1).with(process(1).uses(0)))
                .answerWith(_ -> new Result(Outcome.DENIED, "needs the capability CAP_KILL"));
        service.afterCycles(1);
        assertThat(service.ready.call().getStatus()).isEqualTo(Status.DOWN);
        assertThat(service.missingPrivileges()).containsExactly("KILL");
    }

    @Test
    void statusIsLateWithoutACycleForThreeIntervals() {
        var service = new Service(false, Map.of(), node);

        time.pass(Duration.ofSeconds(30));
        assertThat(service.status()).isEqualTo(new StatusView("1.2.3", FakeTime.START, null, 30, false, null, TODAY));

        time.pass(Duration.ofSeconds(1));
        assertThat(service.status().late()).isTrue();

        node.observeWith(() -> {
            time.pass(Duration.ofSeconds(2));
            return host("gpu-1").snapshot();
        });
        service.afterCycles(1);
        var end = FakeTime.START.plusSeconds(33);
        assertThat(service.status()).isEqualTo(new StatusView("1.2.3", FakeTime.START, end, 0, false, null, TODAY));
    }

    @Test
    void statusHasTheErrorOfTheLastCycleUntilOneSucceeds() {
        var service = new Service(false, Map.of(), node);

        isListMissing = true;
        service.afterCycles(1);
        assertThat(service.status().error()).isEqualTo("java.lang.IllegalStateException: no list of hosts");

        isListMissing = false;
        service.afterCycles(1);
        assertThat(service.status().error()).isNull();
    }

    private final class Service {
        private final Enforcer enforcer;
        private final HealthCheck live;
        private final HealthCheck ready;

        Service(boolean remote, Map<RuleDefinition, RuleMode> rules, FakeHost... hosts) {
            var gpus = new GpuLossDetector();
            var config = EnforcerConfigBuilder.enforcerConfig(() -> {
                        if (isListMissing) {
                            throw new IllegalStateException("no list of hosts");
                        }
                        return List.of(hosts);
                    })
                    .remote(remote)
                    .rules(rules, Limits.NONE)
                    .build();
            enforcer = EnforcerFactory.create(
                    config, NoStore.records(new ViolationRegistry(10)), time.ticker(), List.of(gpus));
            var checks = new HealthChecks(enforcer, SCHEDULE, gpus, new ApiToken(Optional.empty()));
            live = checks.liveness();
            ready = checks.readiness();
        }

        HealthCheckResponse afterCycles(int count) {
            for (var i = 0; i < count; i++) {
                enforcer.runCycle();
            }
            return live.call();
        }

        StatusView status() {
            return StatusView.of("1.2.3", enforcer, SCHEDULE, TODAY);
        }

        HostView host() {
            return HostView.of(enforcer.latest().orElseThrow(), new DeviceHistory(Ticker.ofSystem()))
                    .getFirst();
        }

        List<String> missingPrivileges() {
            return host().missingPrivileges();
        }
    }

    /** So many problems of the state that the relevant one is not listed. */
    private static Snapshot gpuNeedsNewContainer() {
        var problems = new ArrayList<Problem>();
        for (var i = 0; i < 200; i++) {
            problems.add(new Problem(ProblemCode.ENTRY_UNREADABLE, "entry " + i));
        }
        problems.add(new Problem(ProblemCode.GPU_NEEDS_NEW_CONTAINER, REASON));
        return new Snapshot(
                "gpu-1", List.of(), List.of(), List.of(), Set.of(), EnumSet.of(SnapshotPart.PROCESSES), problems);
    }
}
