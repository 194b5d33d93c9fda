package dev.genv.enforcer.remote.genv;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.action.SafetyLimits;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.report.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.violation.ViolationRegistry;
import dev.genv.enforcer.policy.definition.RuleConfig.Limits;
import dev.genv.enforcer.policy.definition.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Enforcement without start times and uids, which genv does not report. */
class GenvEnforcementTest {
    private static final Duration GRACE = Duration.ofSeconds(10);

    private final FakeTime time = new FakeTime();
    private final ScriptedCommandRunner commandRunner = new ScriptedCommandRunner();
    private final Host host = GenvMachineSuite.host(commandRunner, GenvMachineSuite.config(), List.of());
    private final Enforcer enforcer = new Enforcer(
            EnforcerConfigBuilder.enforcerConfig(host)
                    .remote(true)
                    .rules(
                            Map.of(
                                    KnownRules.ENV_DEVICES, RuleMode.ENFORCE,
                                    KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE),
                            Limits.NONE)
                    .safetyLimits(new SafetyLimits(GRACE, null, 0))
                    .build(),
            new ViolationRegistry(100),
            time.ticker(),
            List.of());

    @BeforeEach
    void observeAnEmptyHost() {
        cycle("", "");
    }

    @Test
    void processOfExistingEnvironmentIsTerminatedOnce() {
        cycle("", "a");
        cycle("7 a", "a");
        assertThat(cycleWithActions("7 a", "a")).containsExactly(Map.entry(7, Outcome.SIGNALLED));
        assertThat(cycle("7 a", "a")).isEmpty();
        assertThat(cycle("", "a")).isEmpty();
        assertThat(cycle("", "a")).containsExactly(Map.entry(7, Outcome.EXITED));
    }

    /** Another user may have created the environment after the process that names it. */
    @Test
    void doesNotTerminateAProcessOlderThanItsEnvironment() {
        cycle("7 a", "");
        assertThat(cycle("7 a", "a")).containsExactly(Map.entry(7, Outcome.SKIPPED_PROTECTED));
        cycle("7 a, 8 a", "a");
        assertThat(cycleWithActions("7 a, 8 a", "a"))
                .containsExactly(Map.entry(7, Outcome.SKIPPED_PROTECTED), Map.entry(8, Outcome.SIGNALLED));
    }

    @Test
    void processThatAppearsWithItsEnvironmentIsTerminated() {
        assertThat(cycle("7 a", "a")).containsExactly(Map.entry(7, Outcome.SKIPPED_GRACE));
        assertThat(cycleWithActions("7 a", "a")).containsExactly(Map.entry(7, Outcome.SIGNALLED));
    }

    @Test
    void newProcessWithThePidOfAPendingOneIsSignalled() {
        cycle("7", "");
        assertThat(cycleWithActions("7", "")).containsExactly(Map.entry(7, Outcome.SIGNALLED));
        cycle("", "");
        assertThat(cycle("", "")).containsExactly(Map.entry(7, Outcome.EXITED));
        assertThat(cycle("7", "")).containsExactly(Map.entry(7, Outcome.SKIPPED_GRACE));
        assertThat(cycleWithActions("7", "")).containsExactly(Map.entry(7, Outcome.SIGNALLED));
    }

    /** Many trainers abort at a second SIGTERM. */
    @Test
    void processMissingInOneObservationIsNotSignalledTwice() {
        cycle("7", "");
        assertThat(cycleWithActions("7", "")).containsExactly(Map.entry(7, Outcome.SIGNALLED));
        cycle("", "");
        assertThat(cycle("7", "")).isEmpty();
    }

    @Test
    void processThatGenvCannotReadIsNotTerminated() {
        cycle("8", "");
        commandRunner.thenExit(
                0, snapshot("7, 8", ""), "[WARNING] Not enough permissions to query environment of process 7\n");
        commandRunner.thenReturn(snapshot("8", "")).thenReturn("");
        assertThat(runCycle()).containsExactly(Map.entry(8, Outcome.SIGNALLED));
    }

    private Map<Integer, Outcome> cycle(String processes, String environments) {
        commandRunner.thenReturn(snapshot(processes, environments));
        return runCycle();
    }

    private Map<Integer, Outcome> cycleWithActions(String processes, String environments) {
        commandRunner
                .thenReturn(snapshot(processes, environments))
                .thenReturn(snapshot(processes, environments))
                .thenReturn("");
        return runCycle();
    }

    private Map<Integer, Outcome> runCycle() {
        time.pass(Duration.ofSeconds(10));
        var report = enforcer.runCycle().orElseThrow();
        assertThat(report.result()).isEqualTo(CycleResult.SUCCESS);
        assertThat(commandRunner.isFinished()).isTrue();
        var outcomes = new TreeMap<Integer, Outcome>();
        report.actions()
                .forEach(action -> outcomes.put(
                        ((Action.Terminate) action.planned().action()).process().pid(),
                        action.result().outcome()));
        return outcomes;
    }

    /** Returns a snapshot with processes on device 0, each with its pid and environment, and without attachments. */
    private static String snapshot(String processes, String environments) {
        return "{\n  \"processes\": {\"processes\": [%s]}, \"envs\": {\"envs\": [%s]}, \"devices\": {\"devices\": [%s]}\n}\n"
                .formatted(
                        list(processes, text -> {
                            var fields = text.split(" ", -1);
                            return "{\"pid\": %s, \"used_gpu_memory\": [{\"index\": 0, \"gpu_memory\": \"1mi\"}], \"eid\": %s}"
                                    .formatted(fields[0], fields.length == 1 ? "null" : '"' + fields[1] + '"');
                        }),
                        list(
                                environments,
                                eid ->
                                        "{\"eid\": \"%s\", \"uid\": 1003, \"creation\": \"\", \"username\": \"raz\", \"config\": {\"name\": null, \"gpu_memory\": null, \"gpus\": null}, \"pids\": [], \"kernel_ids\": []}"
                                                .formatted(eid)),
                        "{\"index\": 0, \"total_memory\": \"1mi\", \"attachments\": []}");
    }

    private static String list(String text, UnaryOperator<String> json) {
        return Arrays.stream(text.split(", ", -1))
                .filter(each -> !each.isEmpty())
                .map(json)
                .collect(Collectors.joining(", "));
    }
}
