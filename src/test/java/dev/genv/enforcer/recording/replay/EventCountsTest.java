package dev.genv.enforcer.recording.replay;

import static dev.genv.enforcer.testsupport.KnownRules.ENV_DEVICES;
import static dev.genv.enforcer.testsupport.KnownRules.ENV_MEMORY;
import static dev.genv.enforcer.testsupport.KnownRules.ENV_OWNER;
import static dev.genv.enforcer.testsupport.KnownRules.MAX_DEVICES_PER_USER;
import static dev.genv.enforcer.testsupport.KnownRules.NON_ENV_PROCESSES;
import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import dev.genv.enforcer.enforcement.record.ViolationRecord.Recency;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.recording.RecordedCycle;
import dev.genv.enforcer.recording.replay.EventCounts.Counts;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class EventCountsTest {
    private static final Instant BEGIN = Instant.parse("2026-11-22T00:00:00Z");
    private static final Instant END = BEGIN.plusSeconds(100);

    private final UserNames names = new UserNames();
    private final EventCounts counts = new EventCounts(BEGIN, END, names);

    @Test
    void countsViolationsAndActionsByUserAndRule() {
        counts.add(opened(BEGIN, violation(ENV_MEMORY, "raz", 1)));
        counts.add(opened(BEGIN, violation(ENV_MEMORY, "raz", 2)));
        counts.add(terminated(BEGIN, violation(ENV_MEMORY, "raz", 1), Outcome.SIGNALLED, Signal.TERM));
        counts.add(detached(BEGIN, violation(ENV_DEVICES, "alice", 3)));

        assertThat(of("raz").total()).isEqualTo(new Counts(2, 1, 0));
        assertThat(of("raz").byRule()).containsOnly(Map.entry(ENV_MEMORY, new Counts(2, 1, 0)));
        assertThat(of("alice").total()).isEqualTo(new Counts(0, 0, 1));
    }

    @Test
    void actionForTwoRulesCountsForBothAndOnceForTheUser() {
        counts.add(terminated(BEGIN, violation(ENV_MEMORY, "raz", 1), Outcome.SIGNALLED, Signal.TERM));
        counts.add(terminated(BEGIN, violation(ENV_DEVICES, "raz", 1), Outcome.SIGNALLED, Signal.TERM));

        assertThat(of("raz").byRule()).hasSize(2);
        assertThat(of("raz").total().terminations()).isOne();
    }

    @Test
    void samePidInALaterCycleIsAnotherProcess() {
        counts.add(terminated(BEGIN, violation(ENV_MEMORY, "raz", 1), Outcome.SIGNALLED, Signal.TERM));
        counts.add(terminated(BEGIN.plusSeconds(10), violation(ENV_MEMORY, "raz", 1), Outcome.SIGNALLED, Signal.TERM));

        assertThat(of("raz").total().terminations()).isEqualTo(2);
    }

    @Test
    void neitherSkippedNorRepeatedActionsAreTerminations() {
        counts.add(terminated(BEGIN, violation(ENV_MEMORY, "raz", 1), Outcome.SKIPPED_AUDIT, null));
        counts.add(terminated(BEGIN, violation(ENV_MEMORY, "raz", 1), Outcome.SIGNALLED, Signal.KILL));
        counts.add(terminated(BEGIN, violation(ENV_MEMORY, "raz", 1), Outcome.DENIED, Signal.TERM));

        assertThat(counts.byUser()).isEmpty();
    }

    @Test
    void onlyThePeriodCounts() {
        counts.add(opened(BEGIN.minusMillis(1), violation(ENV_MEMORY, "raz", 1)));
        counts.add(opened(END.plusMillis(1), violation(ENV_MEMORY, "raz", 1)));
        assertThat(counts.byUser()).isEmpty();

        counts.add(opened(END, violation(ENV_MEMORY, "raz", 1)));
        assertThat(of("raz").total().violations()).isOne();
    }

    @Test
    void processOutsideOfEnvironmentsIsOfTheUserWithThatAccount() {
        counts.add(opened(BEGIN, violation(NON_ENV_PROCESSES, null, 1)));
        assertThat(of("1000").total().violations()).isOne();

        var snapshot = host().with(env("1").user("raz").uid(1000).account()).snapshot();
        names.add(new RecordedCycle(BEGIN, Duration.ZERO, 1, Set.of("here"), Map.of("here", snapshot)));
        counts.add(opened(BEGIN, violation(NON_ENV_PROCESSES, null, 1)));
        assertThat(of("raz").total().violations()).isOne();
    }

    @Test
    void equalPidsAndEnvironmentsOnTwoHostsAreDifferentOnes() {
        var quota = new Violation(
                MAX_DEVICES_PER_USER,
                null,
                Set.of("a", "b"),
                "user raz",
                "message",
                "raz",
                null,
                List.of(0),
                List.of());
        for (var host : List.of("a", "b")) {
            counts.add(done(quota, new ActionNote.TargetAttachment(host, "ml", 0), Outcome.DETACHED));
            counts.add(done(quota, new ActionNote.TargetProcess(host, 7), Outcome.SIGNALLED));
        }
        counts.add(done(violation(ENV_MEMORY, "raz", 7), new ActionNote.TargetProcess("a", 7), Outcome.SIGNALLED));

        assertThat(of("raz").total()).isEqualTo(new Counts(0, 2, 2));
    }

    @Test
    void forgedEnvironmentAndStrangersInOneAreNotItsUsers() {
        counts.add(opened(BEGIN, violation(ENV_OWNER, "alice", 1)));
        counts.add(opened(
                BEGIN,
                new Violation(ENV_OWNER, "here", "environment 1", "is disputed", "alice", "1", List.of(), List.of())));

        assertThat(counts.byUser()).containsOnlyKeys(Optional.of("1000"), Optional.empty());
    }

    @Test
    void namesAboveTheLargestNumberAreCountedTogether() {
        IntStream.range(0, EventCounts.MAX_USERS + 7)
                .forEach(number -> counts.add(opened(BEGIN, violation(ENV_MEMORY, "user" + number, 1))));

        assertThat(counts.byUser()).hasSize(EventCounts.MAX_USERS + 1);
        assertThat(Objects.requireNonNull(counts.byUser().get(Optional.empty()))
                        .total()
                        .violations())
                .isEqualTo(7);
    }

    private EventCounts.OfUser of(String user) {
        return Objects.requireNonNull(counts.byUser().get(Optional.of(user)));
    }

    private static Violation violation(RuleDefinition rule, @Nullable String user, int pid) {
        return new Violation(
                rule,
                "here",
                "process " + pid,
                "message",
                user,
                null,
                List.of(0),
                List.of(process(pid).build()));
    }

    private static Event opened(Instant at, Violation violation) {
        return new Event(1, at, new EventContent.ViolationOpened(record(violation)));
    }

    private static Event terminated(Instant at, Violation violation, Outcome outcome, @Nullable Signal sent) {
        var pid = violation.processes().getFirst().pid();
        var note =
                new ActionNote(new ActionNote.TargetProcess("here", pid), Optional.ofNullable(sent), at, outcome, null);
        return new Event(1, at, new EventContent.ActionRecorded(record(violation), note));
    }

    private static Event detached(Instant at, Violation violation) {
        var note = new ActionNote(
                new ActionNote.TargetAttachment("here", "1", 0), Optional.empty(), at, Outcome.DETACHED, null);
        return new Event(1, at, new EventContent.ActionRecorded(record(violation), note));
    }

    private static Event done(Violation violation, ActionNote.Target target, Outcome outcome) {
        var sent = target instanceof ActionNote.TargetProcess ? Optional.of(Signal.TERM) : Optional.<Signal>empty();
        var note = new ActionNote(target, sent, BEGIN, outcome, null);
        return new Event(1, BEGIN, new EventContent.ActionRecorded(record(violation), note));
    }

    private static ViolationRecord record(Violation violation) {
        return ViolationRecord.begin(violation, RuleMode.ENFORCE, BEGIN, new Recency(1, BEGIN));
    }
}
