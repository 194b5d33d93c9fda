package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.ProblemLog.Changes;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.LogRecords;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The log of a cycle: the number of violations and problems is limited, every action is logged, and each problem when it begins and ends. */
class LogLinesTest {
    private static final Action TERMINATE = new Action.Terminate(
            "gpu-1", process(812).inEnvironment("a\n\"b").uid(1003).uses(0, 1).build());
    private static final Action DETACH =
            new Action.Detach("gpu-1", env("a").uid(7).build(), 2, new Attachment("a", null, null));
    private static final Problem UNEXPLAINED = new Problem(ProblemCode.UNEXPLAINED_MEMORY, "9000 MiB on device 0");
    private static final String EVIL = "\u001b[2J\r\n2026-11-20 ERROR forged\u2028\u202e\"%n%s\u009b\u007f";

    private final ProblemLog problemLog = new ProblemLog(false);

    @Test
    void boundsTheLinesForThousandsOfViolationsAndLogsEveryAction() {
        assertThat(ActionLog.limit(numbers(100), "lines")).isEqualTo(numbers(100));
        var entries = IntStream.range(0, 5_000)
                .mapToObj(pid -> entry("Process %d is bad".formatted(pid)))
                .toList();
        try (var log = LogRecords.of(ActionLog.class.getName())) {
            ActionLog.logNew(entries.stream().map(ViolationRecord::violation).toList());
            var fleet = new Fleet(List.of(), false);
            var actions =
                    IntStream.range(1, 1_000).mapToObj(LogLinesTest::signalled).toList();
            actions.forEach(action -> ActionLog.logResult(fleet, action));
            ActionLog.logEnd(fleet, new ViolationRegistry.Update(entries, actions, List.of(), entries));
            assertThat(log.lines())
                    .filteredOn(line -> line.startsWith("action=terminate"))
                    .as("all, and each once")
                    .hasSize(999);
            assertThat(log.lines())
                    .filteredOn(line -> !line.startsWith("action=") && !line.startsWith("Terminating"))
                    .hasSize(202)
                    .contains("Process 0 is bad", "and 4900 more violations")
                    .contains("Resolved: Process 99 is bad", "Resolved: and 4900 more violations");
        }
    }

    @Test
    void boundsTheLinesForNewAndResolvedProblems() {
        var reports = IntStream.range(0, 5)
                .mapToObj(host -> report(
                        "gpu-" + host,
                        numbers(100).stream()
                                .map(number -> new Problem(ProblemCode.ENTRY_UNREADABLE, "entry " + number))
                                .toArray(Problem[]::new)))
                .toList();
        var problems = new ProblemLog(false);
        try (var log = LogRecords.of(ProblemLog.class.getName())) {
            problems.log(reports);
            assertThat(log.lines())
                    .hasSize(101)
                    .startsWith("[gpu-0] entry_unreadable: entry 0")
                    .endsWith("and 400 more problems");
            problems.log(reports);
            assertThat(log.lines()).as("once").hasSize(101);
            problems.log(List.of());
            assertThat(log.lines())
                    .hasSize(202)
                    .contains("Over: [gpu-0] entry_unreadable: entry 0")
                    .endsWith("Over: and 400 more problems");
        }
    }

    /** It is tried again in nine seconds, then in eight, then in seven. */
    @Test
    void logsUnreachableHostOnce() {
        var problems = new ProblemLog(false);
        try (var log = LogRecords.of(ProblemLog.class.getName())) {
            problems.log(List.of(unreachable(ProblemCode.HOST_UNREACHABLE, "refused; next try in 9 s")));
            problems.log(List.of(unreachable(ProblemCode.HOST_UNREACHABLE, "refused; next try in 8 s")));
            problems.log(List.of(unreachable(ProblemCode.BUSY, "still busy")));
            assertThat(log.lines()).containsExactly("[gpu-1] host_unreachable: refused; next try in 9 s");
            problems.log(List.of(unreachable(ProblemCode.HOST_KEY_CHANGED, "another key")));
            problems.log(List.of(report("gpu-1")));
            assertThat(log.lines().subList(1, 4))
                    .containsExactly(
                            "[gpu-1] host_key_changed: another key",
                            "Over: [gpu-1] host_unreachable: refused; next try in 9 s",
                            "Over: [gpu-1] host_key_changed: another key");
        }
    }

    @Test
    void quietModeDoesNotLogUnreachableHosts() {
        var problems = new ProblemLog(true);
        try (var log = LogRecords.of(ProblemLog.class.getName())) {
            problems.log(List.of(
                    unreachable(ProblemCode.HOST_UNREACHABLE, "refused"),
                    report("gpu-2", new Problem(ProblemCode.STATE_UNREADABLE, "envs.json: is a link"))));
            assertThat(log.lines()).containsExactly("[gpu-2] state_unreadable: envs.json: is a link");
        }
    }

    /** A line is a line, whatever stands in it. */
    @Test
    void untrustedTextCannotForgeLogLines() {
        var id = EVIL + "x".repeat(4096 - EVIL.length());
        var fleet = new Fleet(
                List.of(host("gpu-1")
                        .devices(2)
                        .with(env(id).user(id).capacity("1").attached(0))
                        .with(process(7).inEnvironment(id).uses(0, 1))
                        .snapshot()),
                true);
        var plan = KnownRules.policy(
                        Rules.definitions().stream().collect(Collectors.toMap(rule -> rule, _ -> RuleMode.ENFORCE)),
                        new Limits(0, Map.of()))
                .check(fleet, Set.of());
        var entries = plan.violations().stream()
                .map(violation -> entry(violation.message()))
                .toList();
        assertThat(entries).hasSizeGreaterThan(2);
        var actions = plan.actions().stream()
                .map(planned -> new ActionRecord(planned, Result.failed(id), Instant.EPOCH))
                .toList();
        try (var log = LogRecords.of(ActionLog.class.getPackageName())) {
            ActionLog.logNew(plan.violations());
            ActionLog.logEnd(fleet, new ViolationRegistry.Update(entries, actions, List.of(), entries));
            assertThat(log.lines())
                    .hasSizeGreaterThan(6)
                    .allSatisfy(line -> assertThat(line).matches("[ -~…]*").hasSizeLessThan(6_000));
            assertThat(log.lines())
                    .filteredOn(line -> line.startsWith("action="))
                    .isNotEmpty()
                    .allSatisfy(line -> assertThat(
                                    line.chars().filter(letter -> letter == '"').count())
                            .as("quotes around user, command, environment and detail")
                            .isEqualTo(line.contains(" command=- ") ? 6 : 8));
        }
    }

    private static List<String> numbers(int count) {
        return IntStream.range(0, count).mapToObj(String::valueOf).toList();
    }

    private static ViolationRecord entry(String message) {
        return ViolationRecord.begin(
                violation(message),
                RuleMode.AUDIT,
                Instant.EPOCH,
                new ViolationRecord.Recency(1, Instant.EPOCH),
                List.of());
    }

    private static Violation violation(String message) {
        return new Violation(KnownRules.ENV_DEVICES, "gpu-1", message, message, null, null, List.of(), List.of());
    }

    private static ActionRecord signalled(int pid) {
        var action = new Action.Terminate("gpu-1", process(pid).uses(0).build());
        return new ActionRecord(
                new PlannedAction(action, List.of(violation("x"))), Result.of(Outcome.SIGNALLED), Instant.EPOCH);
    }

    private static Snapshot unreachable(ProblemCode code, String why) {
        return Snapshot.unseen("gpu-1", new Problem(code, why));
    }

    private static Snapshot report(String name, Problem... problems) {
        return new FakeHost(host(name)).observe().withProblems(List.of(problems));
    }

    @Test
    void actionsAreLoggedInAFixedFormat() {
        assertThat(ActionLog.fixedForm(actionRecord(TERMINATE, Result.of(Outcome.SIGNALLED))))
                .isEqualTo(
                        "action=terminate rules=env-devices,env-memory host=gpu-1 pid=812 start_time=991232 uid=1003"
                                + " user=\"\\u001b'raz\" command=\"python\" environment=\"a\\u000a'b\" devices=0,1 signal=TERM outcome=signalled detail=\"\"");
        assertThat(ActionLog.fixedForm(actionRecord(DETACH, Result.failed("disk\nfull"))))
                .isEqualTo(
                        "action=detach rules=env-devices,env-memory host=gpu-1 pid=- start_time=- uid=7"
                                + " user=\"\\u001b'raz\" command=- environment=\"a\" devices=2 signal=- outcome=failed detail=\"disk\\u000afull\"");
        var stray = new Action.Terminate("gpu-1", process(812).uses(0).build());
        assertThat(ActionLog.fixedForm(actionRecord(stray, Result.of(Outcome.SIGNALLED))))
                .contains(" environment=\"N/A\" ");
    }

    /** A parser must find the closing quote, and no escape that a user wrote. */
    @Test
    void untrustedTextCannotCloseItsQuotes() {
        var job =
                new Action.Terminate("gpu-1", process(812).inEnvironment("x\\").build());
        assertThat(ActionLog.fixedForm(actionRecord(job, Result.failed("\\\" outcome=exited \\u000a"))))
                .contains(" environment=\"x\\u005c\" devices=")
                .endsWith(" detail=\"\\u005c' outcome=exited \\u005cu000a\"");
    }

    @Test
    void linesUseGenvsWordingAndNameTheOutcome() {
        assertThat(linesOf(TERMINATE, Result.of(Outcome.ALREADY_GONE), false))
                .containsExactly(
                        "Terminating process 812 from environment a\\u000a\"b that is running on GPU(s) 0,1",
                        "Process 812 already terminated");
        assertThat(linesOf(TERMINATE, Result.of(Outcome.DENIED), true))
                .last()
                .isEqualTo("[gpu-1] Not enough permissions to terminate process 812");
        assertThat(linesOf(DETACH, Result.of(Outcome.DETACHED), true))
                .containsExactly("[gpu-1] Detaching environment a of user raz from device 2");
        assertThat(linesOf(DETACH, Result.of(Outcome.ALREADY_DETACHED), false))
                .containsExactly("Detaching environment a of user raz from device 2 (already_detached: nothing to do)");
    }

    private static List<String> linesOf(Action action, Result result, boolean remote) {
        return ActionLog.lines(new Fleet(List.of(), remote), actionRecord(action, result));
    }

    private static ActionRecord actionRecord(Action action, Result result) {
        var causes = Stream.of(KnownRules.ENV_DEVICES, KnownRules.ENV_MEMORY)
                .map(rule -> new Violation(rule, "gpu-1", "…", "…", "\u001b\"raz", null, List.of(), List.of()))
                .toList();
        return new ActionRecord(new PlannedAction(action, causes), result, Instant.EPOCH);
    }

    @Test
    void anotherTextOfAnObservationIsAnotherProblem() {
        var first = new Problem(ProblemCode.ENTRY_UNREADABLE, "environment a has no pids");
        var second = new Problem(ProblemCode.ENTRY_UNREADABLE, "environment b has no pids");
        log(first);
        assertThat(log(second)).isEqualTo(changes(List.of(second), List.of(first)));
    }

    /** Each host has a problem of the whole service, so each new text would be two events of each host in each cycle. */
    @Test
    void theTextOfAProblemOfTheServiceCanChange() {
        var first = new Problem(ProblemCode.NOTIFICATION_FAILED, "mail: 451 4.3.0 try again, id 1");
        var webhook = new Problem(ProblemCode.NOTIFICATION_FAILED, "webhook: connection refused");
        assertThat(log(first, webhook)).isEqualTo(changes(List.of(first, webhook), List.of()));
        var second = new Problem(ProblemCode.NOTIFICATION_FAILED, "mail: 451 4.3.0 try again, id 2");
        assertThat(log(second, webhook)).isEqualTo(changes(List.of(), List.of()));
        var waiting = new Problem(ProblemCode.DATA_UNWRITABLE, "11 cycles wait for the disk");
        assertThat(log(webhook, waiting)).isEqualTo(changes(List.of(waiting), List.of(first)));
        assertThat(log(webhook, new Problem(ProblemCode.DATA_UNWRITABLE, "12 cycles wait for the disk")))
                .isEqualTo(changes(List.of(), List.of()));
    }

    private Changes log(Problem... problems) {
        return problemLog.log(List.of(report("here", problems)));
    }

    private static Changes changes(List<Problem> began, List<Problem> ended) {
        return new Changes(ofHost(began), ofHost(ended));
    }

    private static List<HostProblem> ofHost(List<Problem> problems) {
        return problems.stream()
                .map(problem -> new HostProblem("here", problem))
                .toList();
    }

    @Test
    void reportsUpToTheLimitUnchanged() {
        var all = entries(100);
        assertThat(reported(all)).isEqualTo(all);
    }

    @Test
    void cutsTheMostFrequentCodeAndCountsTheRest() {
        var all = Stream.concat(entries(200).stream(), Stream.of(UNEXPLAINED)).toList();
        assertThat(reported(all))
                .hasSize(101)
                .startsWith(all.get(0), all.get(1))
                .contains(all.get(98))
                .doesNotContain(all.get(99))
                .endsWith(UNEXPLAINED, new Problem(ProblemCode.MORE_PROBLEMS, "and 101 more"));
    }

    private static List<Problem> entries(int number) {
        return IntStream.range(0, number)
                .mapToObj(i -> new Problem(ProblemCode.ENTRY_UNREADABLE, "entry " + i))
                .toList();
    }

    private static List<Problem> reported(List<Problem> problems) {
        var fleet = new Fleet(List.of(report("here", problems.toArray(Problem[]::new))), false);
        return HostProblems.addTo(fleet, List.of(), List.of())
                .snapshots()
                .getFirst()
                .problems();
    }
}
