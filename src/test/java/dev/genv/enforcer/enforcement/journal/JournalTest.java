package dev.genv.enforcer.enforcement.journal;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static dev.genv.enforcer.testsupport.HostBuilder.remote;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.action.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Plan;
import dev.genv.enforcer.policy.plan.PlannedAction;
import dev.genv.enforcer.policy.plan.RuleMode;
import dev.genv.enforcer.policy.plan.RuleName;
import dev.genv.enforcer.policy.plan.Violation;
import dev.genv.enforcer.testsupport.HostBuilder;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class JournalTest {
    private static final Instant START = Instant.parse("2026-11-20T09:22:28Z");
    private final Journal journal = new Journal(3);
    private Instant now = START;

    @Test
    void continuingViolationKeepsItsEntry() {
        observeViolations(strayOn("gpu-1", 1));
        var id = all().getFirst().id();
        now = now.plusSeconds(10);
        var update = observeViolations(strayOn("gpu-1", 1));

        assertThat(update.appeared()).isEmpty();
        assertThat(all()).singleElement().satisfies(entry -> {
            assertThat(entry.id()).isEqualTo(id);
            assertThat(entry.cycles()).isEqualTo(2);
            assertThat(entry.firstSeen()).isEqualTo(START);
            assertThat(entry.lastSeen()).isEqualTo(now);
        });
        assertThat(journal.find(id)).isPresent();
        assertThat(journal.find("another")).isEmpty();
    }

    @Test
    void clockSetBackKeepsTheOrderAndHidesNoViolation() {
        observeViolations(strayOn("gpu-1", 1), strayOn("gpu-1", 2));
        now = START.minusSeconds(3600);
        observeViolations(strayOn("gpu-1", 1), strayOn("gpu-1", 3));

        assertThat(all())
                .extracting(entry -> entry.violation().processes().getFirst().pid())
                .as("newest first")
                .first()
                .isEqualTo(3);
        assertThat(all()).allSatisfy(entry -> {
            assertThat(entry.lastSeen()).isAfterOrEqualTo(entry.firstSeen());
            assertThat(entry.recency().latest())
                    .as("what is asked for since then is found")
                    .isEqualTo(START);
        });
    }

    @Test
    void usesTheClockAgainAfterItWasFarAhead() {
        now = START.plusSeconds(31_536_000);
        observeViolations(strayOn("gpu-1", 1));
        now = START;
        observeViolations(strayOn("gpu-1", 2));

        assertThat(all().getFirst().firstSeen()).isEqualTo(START);
        assertThat(all().getFirst().lastSeen()).isEqualTo(START);
    }

    @Test
    void violationThatReturnsGetsANewEntry() {
        observeViolations(strayOn("gpu-1", 1));
        observeViolations();
        observeViolations(strayOn("gpu-1", 1));

        assertThat(all()).extracting(JournalEntry::active).containsExactlyInAnyOrder(true, false);
        assertThat(all()).extracting(JournalEntry::id).doesNotHaveDuplicates();
    }

    @Test
    void violationIsResolvedOnlyOnObservedHosts() {
        observeViolations(strayOn("gpu-1", 1), strayOn("gpu-2", 1));

        var update = journal.update(
                Plan.EMPTY, cycleOutcome(List.of()), _ -> RuleMode.ENFORCE, remote(unobserved("gpu-1"), host("gpu-2")));

        assertThat(update.resolved())
                .singleElement()
                .satisfies(entry -> assertThat(entry.violation().host()).isEqualTo("gpu-2"));
    }

    @Test
    void quotaIsResolvedOnlyWhenAllHostsItCountedAreObserved() {
        observeViolations(quota("gpu-1", "gpu-2"));
        observeFleet(remote(host("gpu-1"), unobserved("gpu-2"), host("gpu-3")));
        assertThat(all().getFirst().active()).isTrue();

        observeFleet(remote(host("gpu-1"), host("gpu-2"), unobserved("gpu-3")));
        assertThat(all().getFirst().active())
                .as("a host that is gone for good must not keep what happens on the others")
                .isFalse();
    }

    /** On the one that is out of sight he may hold as many as before. */
    @Test
    void brokenQuotaStillDependsOnItsUnobservedHost() {
        observeViolations(quota("gpu-1", "gpu-2", "gpu-3"));
        journal.update(
                new Plan(List.of(quota("gpu-2", "gpu-3")), List.of(), List.of()),
                cycleOutcome(List.of()),
                _ -> RuleMode.ENFORCE,
                remote(unobserved("gpu-1"), host("gpu-2"), host("gpu-3")));
        observeFleet(remote(unobserved("gpu-1"), host("gpu-2"), host("gpu-3")));
        assertThat(journal.active()).hasSize(1);
        observeFleet(remote(host("gpu-1"), host("gpu-2"), host("gpu-3")));
        assertThat(journal.active()).isEmpty();
    }

    @Test
    void movedQuotaStillDependsOnItsUnobservedFormerHost() {
        observeViolations(quota("gpu-1"));
        journal.update(
                new Plan(List.of(quota("gpu-2")), List.of(), List.of()),
                cycleOutcome(List.of()),
                _ -> RuleMode.ENFORCE,
                remote(unobserved("gpu-1"), host("gpu-2")));
        observeFleet(remote(unobserved("gpu-1"), host("gpu-2")));
        assertThat(journal.active()).hasSize(1);
    }

    @Test
    void violationOnRemovedHostIsResolved() {
        observeViolations(strayOn("gpu-1", 1), quota("gpu-1", "gpu-2"));
        observeFleet(remote(unobserved("gpu-2")));
        assertThat(journal.active())
                .as("gpu-2 is still in it")
                .containsExactly(quota("gpu-1").key());
        observeFleet(remote(host("gpu-3")));
        assertThat(journal.active()).isEmpty();
    }

    /** A file that stays invalid must not keep the violations of another file in memory. */
    @ParameterizedTest
    @EnumSource(RuleName.class)
    void violationIsResolvedOnlyWithAllPartsItsRuleRequires(RuleName rule) {
        var job = process(1).inEnvironment("a").uses(0).build();
        assertThat(requiredParts(broken(rule, job)))
                .isEqualTo(
                        switch (rule) {
                            case NON_ENV_PROCESSES, INACTIVE_ENV_PROCESSES, ENV_OWNER ->
                                Set.of(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS, SnapshotPart.ENVIRONMENTS);
                            case ENV_DEVICES, ENV_MEMORY, MAX_DEVICES_PER_USER -> Set.of(SnapshotPart.values());
                        });
    }

    @Test
    void disputeIsResolvedOnceEnvironmentsAreObserved() {
        assertThat(requiredParts(broken(RuleName.ENV_OWNER))).containsExactly(SnapshotPart.ENVIRONMENTS);
    }

    @Test
    void disputesAreResolvedWhileAttachmentsAreUnreadable() {
        for (var cycle = 0; cycle < 50; cycle++) {
            var dispute = new Violation(
                    RuleName.ENV_OWNER, "gpu-1", "environment " + cycle, "…", null, "e", List.of(), List.of());
            journal.update(
                    new Plan(List.of(dispute), List.of(), List.of()),
                    cycleOutcome(List.of()),
                    _ -> RuleMode.AUDIT,
                    host("gpu-1").missing(SnapshotPart.ATTACHMENTS).fleet());
        }
        assertThat(journal.active()).hasSize(1);
    }

    /** A host whose listing is never complete would otherwise keep a violation of every process that a user starts. */
    @ParameterizedTest
    @EnumSource(
            value = RuleName.class,
            mode = EnumSource.Mode.EXCLUDE,
            names = {"MAX_DEVICES_PER_USER"})
    void isOverOnceAllItsProcessesHaveEndedAlsoWhereTheListingIsIncomplete(RuleName rule) {
        observeViolations(
                broken(rule, process(1).uses(0).build(), process(2).uses(0).build()));
        assertThat(journal.processesToVerify()).as("the last cycle found it").isEmpty();
        lookWithoutEveryProcess();
        assertThat(journal.processesToVerify()).containsExactlyInAnyOrder(id("gpu-1", 1), id("gpu-1", 2));

        assertThat(lookWithoutEveryProcess(id("gpu-1", 1)).resolved()).isEmpty();
        assertThat(lookWithoutEveryProcess(id("gpu-1", 2), id("a", 1)).resolved())
                .as("the same pid on another host")
                .isEmpty();
        assertThat(lookWithoutEveryProcess(id("gpu-1", 1), id("gpu-1", 2)).resolved())
                .hasSize(1);
        assertThat(journal.processesToVerify()).isEmpty();
    }

    /** It is about attachments, which outlive the processes. */
    @Test
    void aQuotaIsNotOverBecauseItsProcessesHaveEnded() {
        observeViolations(
                broken(RuleName.MAX_DEVICES_PER_USER, process(1).uses(0).build()));
        lookWithoutEveryProcess();
        assertThat(journal.processesToVerify()).isEmpty();
        assertThat(lookWithoutEveryProcess(id("gpu-1", 1)).resolved()).isEmpty();
    }

    @Test
    void aDisputeWithoutProcessesIsNotOverBecauseNoneRuns() {
        observeViolations(broken(RuleName.ENV_OWNER));
        assertThat(observeFleet(remote(unobserved("gpu-1"))).resolved()).isEmpty();
    }

    @Test
    void aViolationThatIsFoundIsNotOverAlthoughItsProcessHasEnded() {
        observeViolations(strayOn("gpu-1", 1));
        var update = journal.update(
                new Plan(List.of(strayOn("gpu-1", 1)), List.of(), List.of()),
                new Journal.CycleOutcome(List.of(), Map.of(), Set.of(id("gpu-1", 1)), now),
                _ -> RuleMode.ENFORCE,
                host("gpu-1").fleet());
        assertThat(update.resolved()).isEmpty();
    }

    /** A shell reads the files of each process: all are verified in turn. */
    @Test
    void verifiesALimitedNumberOfProcessesOfAHostInACycle() {
        var many = AbsentViolations.MAX_VERIFIED + AbsentViolations.MAX_VERIFIED / 2;
        observeViolations(IntStream.rangeClosed(1, many)
                .mapToObj(pid -> strayOn(pid % 2 == 0 ? "a" : "b", pid))
                .toArray(Violation[]::new));
        observeViolations(IntStream.rangeClosed(1, 2 * many)
                .mapToObj(pid -> strayOn("gpu-1", pid))
                .toArray(Violation[]::new));
        observeFleet(remote(unobserved("gpu-1"), host("a"), host("b")));

        var verified = new HashSet<HostProcess>();
        for (var cycle = 0; cycle < 3; cycle++) {
            var now = journal.processesToVerify();
            assertThat(now).hasSize(AbsentViolations.MAX_VERIFIED);
            verified.addAll(now);
        }
        assertThat(verified).hasSize(2 * many);
    }

    /** The host never tells whether they have ended. */
    @Test
    void keepsALimitedAmountOfViolationsThatAreNotFoundAnyMore() {
        var all = new Journal(10_000);
        for (var cycle = 0; cycle < 60; cycle++) {
            var violations = new ArrayList<Violation>();
            for (var i = 0; i < 100; i++) {
                violations.add(withTexts("%d-%d".formatted(cycle, i) + "x".repeat(4_000)));
            }
            all.update(
                    new Plan(violations, List.of(), List.of()),
                    cycleOutcome(List.of()),
                    _ -> RuleMode.AUDIT,
                    remote(unobserved("gpu-1")));
        }
        var texts = all.find(JournalEntry::active, 10_000).stream()
                .mapToLong(entry -> entry.violation().message().length())
                .sum();
        assertThat(texts).isBetween(1L << 20, 4L << 20);
        assertThat(all.find(
                        entry -> entry.active() && entry.violation().message().startsWith("59-"), 10_000))
                .as("what the last cycle found is kept")
                .hasSize(100);
        assertThat(all.find(entry -> !entry.active(), 10_000)).as("resolved").isNotEmpty();
    }

    private Journal.Update lookWithoutEveryProcess(HostProcess... ended) {
        return journal.update(
                Plan.EMPTY,
                new Journal.CycleOutcome(List.of(), Map.of(), Set.of(ended), now),
                _ -> RuleMode.ENFORCE,
                host("gpu-1").missing(SnapshotPart.EVERY_PROCESS).fleet());
    }

    private Set<SnapshotPart> requiredParts(Violation violation) {
        var needed = EnumSet.noneOf(SnapshotPart.class);
        for (var part : SnapshotPart.values()) {
            observeViolations(violation);
            if (observeFleet(host("gpu-1").missing(part).fleet()).resolved().isEmpty()) {
                needed.add(part);
            }
        }
        return needed;
    }

    @Test
    void quotaThatMovesToAnotherHostKeepsItsEntry() {
        for (var host : List.of("gpu-1", "gpu-2")) {
            observeViolations(quota(host));
        }
        assertThat(all()).hasSize(1);
    }

    private static Violation quota(String... hosts) {
        return new Violation(
                RuleName.MAX_DEVICES_PER_USER,
                hosts.length == 1 ? hosts[0] : null,
                Set.of(hosts),
                "user raz",
                "…",
                "raz",
                null,
                List.of(0),
                List.of());
    }

    @Test
    void keepsAllActiveAndTheLatestResolvedEntries() {
        for (var pid = 1; pid <= 5; pid++) {
            observeViolations(strayOn("gpu-1", pid));
            now = now.plusSeconds(1);
        }
        observeViolations();
        assertThat(all()).extracting(JournalTest::pid).containsExactly(5, 4, 3);

        observeViolations(strayOn("a", 1), strayOn("b", 1), strayOn("c", 1), strayOn("d", 1), strayOn("e", 1));
        assertThat(journal.find(JournalEntry::active, 100)).hasSize(5);
    }

    @Test
    void findReturnsNewestFirstUpToTheLimit() {
        observeViolations(strayOn("gpu-1", 1));
        now = now.plusSeconds(1);
        observeViolations(strayOn("gpu-1", 1), strayOn("gpu-1", 2));

        assertThat(all()).extracting(JournalTest::pid).containsExactly(2, 1);
        assertThat(journal.find(entry -> true, 1)).extracting(JournalTest::pid).containsExactly(2);
    }

    @Test
    void actionOfTwoRulesIsRecordedWithBoth() {
        var stray = strayOn("gpu-1", 1);
        var memory = new Violation(
                RuleName.ENV_MEMORY, "gpu-1", "environment a", "…", "raz", "a", List.of(0), stray.processes());
        var record = record(stray.processes().getFirst().pid(), Outcome.SIGNALLED, stray, memory);

        journal.update(
                new Plan(List.of(stray, memory), List.of(), List.of()),
                cycleOutcome(List.of(record)),
                rule -> rule == RuleName.ENV_MEMORY ? RuleMode.AUDIT : RuleMode.ENFORCE,
                host("gpu-1").fleet());

        assertThat(outcome(RuleName.NON_ENV_PROCESSES)).isEqualTo(Outcome.SIGNALLED);
        assertThat(outcome(RuleName.ENV_MEMORY))
                .as("this rule alone would not have ended it")
                .isEqualTo(Outcome.SKIPPED_AUDIT);
    }

    @Test
    void recordsRepeatedOutcomeOnceAndEachChange() {
        var stray = strayOn("gpu-1", 1);
        for (var outcome : List.of(Outcome.DENIED, Outcome.DENIED, Outcome.FAILED, Outcome.DENIED)) {
            now = now.plusSeconds(1);
            update(List.of(record(1, outcome, stray)), stray);
        }
        assertThat(all().getFirst().actions())
                .extracting(JournalEntry.ActionNote::outcome)
                .containsExactly(Outcome.DENIED, Outcome.FAILED, Outcome.DENIED);
    }

    /** An environment that attaches the same device repeatedly is detached each time. */
    @Test
    void recordsEachRepeatedSignal() {
        var stray = strayOn("gpu-1", 1);
        for (var i = 0; i < 3; i++) {
            now = now.plusSeconds(1);
            assertThat(update(List.of(record(1, Outcome.SIGNALLED, stray)), stray)
                            .actions())
                    .hasSize(1);
        }
        assertThat(all().getFirst().actions()).hasSize(3);
    }

    @Test
    void keepsAtMostTheMaximumOfActions() {
        var stray = strayOn("gpu-1", 1);
        for (var i = 0; i < 3 * Journal.MAX_ACTIONS; i++) {
            update(List.of(record(1, i % 2 == 0 ? Outcome.DENIED : Outcome.FAILED, stray)), stray);
        }
        assertThat(all().getFirst().actions()).hasSize(Journal.MAX_ACTIONS);
    }

    /** On a machine that is short of time: the same trouble must not come back as another one. */
    @Test
    void violationIsNotResolvedWhileMembershipIsUnknown() {
        observeViolations(strayOn("gpu-1", 1));

        assertThat(observeFleet(remote(host("gpu-1")
                                .with(process(1).membershipUnknown().uses(0))))
                        .resolved())
                .isEmpty();
        assertThat(observeFleet(remote(host("gpu-1")
                                .with(process(2).membershipUnknown().uses(0))))
                        .resolved())
                .hasSize(1);
    }

    /** Otherwise a user who can write the pid into the state could restart the violation. */
    @Test
    void violationIsNotResolvedWhileListedProcessIsUnreadable() {
        observeViolations(strayOn("gpu-1", 1));

        var update = observeFleet(remote(host("gpu-1")
                .with(env("a").pids(1))
                .with(process(1).membershipUnknown().uses(0))));

        assertThat(update.resolved()).isEmpty();
    }

    /** The attachments are known independently of the processes. */
    @Test
    void quotaIsResolvedDespiteUnknownMembership() {
        observeViolations(
                broken(RuleName.MAX_DEVICES_PER_USER, process(1).uses(0).build()));

        assertThat(observeFleet(remote(host("gpu-1")
                                .with(process(1).membershipUnknown().uses(0))))
                        .resolved())
                .hasSize(1);
    }

    /** The pid may have come to be used for another one, or the process been taken into an environment. */
    @Test
    void violationIsResolvedWhenPidIsReusedListedOrInAnEnvironment() {
        observeViolations(strayOn("gpu-1", 1), strayOn("gpu-1", 2), strayOn("gpu-1", 3));

        var update = observeFleet(remote(host("gpu-1")
                .with(env("a").pids(2))
                .with(
                        process(1).startedLaterBy(1).membershipUnknown().uses(0),
                        process(2).listed().uses(0),
                        process(3).inEnvironment("a").uses(0))));

        assertThat(update.resolved()).hasSize(3);
    }

    private Outcome outcome(RuleName rule) {
        return journal.find(entry -> entry.violation().rule() == rule, 1)
                .getFirst()
                .actions()
                .getFirst()
                .outcome();
    }

    private List<JournalEntry> all() {
        return journal.find(entry -> true, 100);
    }

    /** In every cycle others, each with the longest texts that a state file may have. */
    @Test
    void keepsFewerResolvedViolationsTheLongerTheirTextsAre() {
        var all = new Journal(10_000);
        for (var cycle = 0; cycle < 40; cycle++) {
            var violations = new ArrayList<Violation>();
            for (var i = 0; i < 100; i++) {
                violations.add(withTexts("%d-%d".formatted(cycle, i) + "x".repeat(4_000)));
            }
            all.update(
                    new Plan(violations, List.of(), List.of()),
                    cycleOutcome(List.of()),
                    _ -> RuleMode.AUDIT,
                    remote(host("gpu-1")));
        }
        var texts = all.find(entry -> !entry.active(), 10_000).stream()
                .mapToLong(entry -> entry.violation().message().length())
                .sum();
        assertThat(texts).isBetween(1L << 20, 4L << 20);
        assertThat(all.find(JournalEntry::active, 10_000)).hasSize(100);
        assertThat(all.find(entry -> entry.violation().message().startsWith("38-"), 10_000))
                .as("the oldest are dropped first")
                .hasSize(100);
    }

    @Test
    void keepsTenThousandResolvedViolationsWithOrdinaryTexts() {
        var all = new Journal(10_000);
        var violations = IntStream.range(0, 10_000)
                .mapToObj(pid -> strayOn("gpu-1", pid))
                .toList();
        all.update(
                new Plan(violations, List.of(), List.of()),
                cycleOutcome(List.of()),
                _ -> RuleMode.AUDIT,
                remote(host("gpu-1")));
        all.update(Plan.EMPTY, cycleOutcome(List.of()), _ -> RuleMode.AUDIT, remote(host("gpu-1")));
        assertThat(all.find(entry -> !entry.active(), 20_000)).hasSize(10_000);
    }

    private static Violation withTexts(String text) {
        return new Violation(RuleName.ENV_OWNER, "gpu-1", text, text, text, text, List.of(), List.of());
    }

    private static int pid(JournalEntry entry) {
        return entry.violation().processes().getFirst().pid();
    }

    private Journal.Update observeViolations(Violation... violations) {
        return update(List.of(), violations);
    }

    private Journal.Update update(List<ActionRecord> records, Violation... violations) {
        return journal.update(
                new Plan(List.of(violations), List.of(), List.of()),
                cycleOutcome(records),
                _ -> RuleMode.ENFORCE,
                remote(host("gpu-1"), host("a"), host("b"), host("c"), host("d"), host("e")));
    }

    private Journal.Update observeFleet(Fleet fleet) {
        return journal.update(Plan.EMPTY, cycleOutcome(List.of()), _ -> RuleMode.ENFORCE, fleet);
    }

    private static HostBuilder unobserved(String host) {
        return host(host).missing(SnapshotPart.values());
    }

    private static Violation broken(RuleName rule, GpuProcess... processes) {
        return new Violation(rule, "gpu-1", "it", "…", null, null, List.of(), List.of(processes));
    }

    private Journal.CycleOutcome cycleOutcome(List<ActionRecord> records) {
        return new Journal.CycleOutcome(records, Map.of(), Set.of(), now);
    }

    private ActionRecord record(int pid, Outcome outcome, Violation... causes) {
        var action = new Action.Terminate("gpu-1", process(pid).uses(0).build());
        return new ActionRecord(new PlannedAction(action, List.of(causes), true), Result.of(outcome), now);
    }

    private static Violation strayOn(String host, int pid) {
        return new Violation(
                RuleName.NON_ENV_PROCESSES,
                host,
                "process " + pid,
                "Process %d is not running in a GPU environment".formatted(pid),
                null,
                null,
                List.of(0),
                List.of(process(pid).uses(0).build()));
    }
}
