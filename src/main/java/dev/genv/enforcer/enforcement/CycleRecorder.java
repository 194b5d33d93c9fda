package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.ActionDispatcher.Execution;
import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.action.Safeguards;
import dev.genv.enforcer.enforcement.action.Terminations;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.CycleClock;
import dev.genv.enforcer.enforcement.host.ObservationAge;
import dev.genv.enforcer.enforcement.host.Order;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.ActionIntents;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Plan.HostProblem;
import io.quarkus.arc.All;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Records a cycle at its end: in the log, in the registry, as events, and for the decisions of later cycles. */
@Singleton
final class CycleRecorder {
    private final EnforcerConfig config;
    private final ViolationRegistry registry;
    private final EventLog events;
    private final ActionIntents intents;
    private final CycleStore store;
    private final Safeguards safeguards;
    private final NextActions nextActions;
    private final CycleClock clock;
    private final ProblemLog problems;
    private final List<CycleListener> listeners;
    private final Ticker ticker;

    CycleRecorder(
            EnforcerConfig config,
            ViolationRegistry registry,
            EventLog events,
            ActionIntents intents,
            CycleStore store,
            Safeguards safeguards,
            Terminations terminations,
            CycleClock clock,
            @All List<CycleListener> listeners,
            Ticker ticker) {
        this.config = config;
        this.registry = registry;
        this.events = events;
        this.intents = intents;
        this.store = store;
        this.safeguards = safeguards;
        this.clock = clock;
        this.listeners = List.copyOf(listeners);
        this.ticker = ticker;
        nextActions = new NextActions(safeguards, terminations, ticker);
        problems = new ProblemLog(config.quiet());
    }

    /** Logs the violations that no cycle has found before, so that they precede the actions that follow from them. */
    void announce(Plan plan) {
        ActionLog.logNew(registry.unknown(plan.violations()));
    }

    /** Records a cycle that came to its end. */
    CycleReport record(
            ObservationAge age,
            Fleet fleet,
            Plan plan,
            List<ActionRecord> reviewed,
            List<Order> orders,
            Execution execution) {
        var actions = Stream.of(execution.late(), reviewed, execution.records())
                .flatMap(List::stream)
                .toList();
        safeguards.record(execution.records());
        var general = Stream.concat(
                        store.problems().stream(), listeners.stream().flatMap(listener -> listener.problems().stream()))
                .toList();
        var ofHosts = Stream.concat(safeguards.problems(orders).stream(), plan.problems().stream())
                .toList();
        var reported = HostProblems.addTo(DeniedPrivileges.addTo(fleet, actions), general, ofHosts);
        var changes = problems.log(reported.snapshots());
        var next = nextActions.of(plan, fleet, orders, execution.records());
        clock.endCycle();
        var outcome = new ViolationRegistry.CycleOutcome(actions, fleet.ended(), fleet.at(), next);
        var update = registry.record(plan, outcome, config::effectiveMode, fleet);
        intents.recorded(actions, update.actions());
        var numbered = events.number(ticker.now(), contents(changes, update));
        store.commit(numbered, fleet.at());
        registry.publish();
        events.publish(numbered);
        ActionLog.logEnd(fleet, update);
        return new CycleReport(
                age.begunAt(),
                age.elapsed(),
                resultOf(fleet, actions),
                reported,
                plan,
                actions,
                update.appeared(),
                null);
    }

    /** Returns the events in their order: problems, new violations, actions, resolved violations. */
    private static List<EventContent> contents(ProblemLog.Changes problems, ViolationRegistry.Update update) {
        var events = new ArrayList<EventContent>();
        problems.ended().forEach(each -> events.add(new EventContent.ProblemEnded(each.host(), each.problem())));
        problems.began().forEach(each -> events.add(new EventContent.ProblemBegan(each.host(), each.problem())));
        update.appeared().forEach(each -> events.add(new EventContent.ViolationOpened(each)));
        events.addAll(update.notes());
        update.resolved().forEach(each -> events.add(new EventContent.ViolationResolved(each)));
        return events;
    }

    /** Reports a cycle that failed. It lets no grace pass. */
    CycleReport failed(ObservationAge age, String why) {
        return new CycleReport(
                age.begunAt(),
                age.elapsed(),
                CycleResult.FAILED,
                new Fleet(List.of(), config.remote()),
                Plan.EMPTY,
                List.of(),
                List.of(),
                HostProblems.escape(why));
    }

    private static CycleResult resultOf(Fleet fleet, List<ActionRecord> actions) {
        if (!fleet.snapshots().stream().allMatch(Snapshot::isObservedCompletely)) {
            return CycleResult.INCOMPLETE;
        }
        return actions.stream().anyMatch(action -> action.result().outcome().isFailure())
                ? CycleResult.ACTION_FAILED
                : CycleResult.SUCCESS;
    }

    /**
     * The privileges that a cycle found to be missing because the kernel denied an access, for example with a security module.
     * They count like the missing privileges that a host reports.
     */
    static final class DeniedPrivileges {
        /** A security module can prevent reading and signalling despite all capabilities. */
        private static final String APPARMOR = "APPARMOR";

        private static final String KILL = "KILL";
        private static final List<String> TO_READ = List.of("SYS_PTRACE", "DAC_READ_SEARCH");

        private static final String NOT_READ =
                ": the kernel denied access to the environment of a process: run as root with --cap-add SYS_PTRACE"
                        + " --cap-add DAC_READ_SEARCH";
        private static final String NOT_SIGNALLED =
                ": the kernel denied a signal to a process: run as root with --cap-add KILL";

        private DeniedPrivileges() {}

        /** Returns the fleet with these privileges added to the missing ones, and a problem for each. */
        static Fleet addTo(Fleet fleet, List<ActionRecord> actions) {
            var unsignalled = actions.stream()
                    .filter(action -> action.result().outcome() == Outcome.DENIED)
                    .map(action -> action.planned().action().host())
                    .collect(Collectors.toUnmodifiableSet());
            return fleet.with(fleet.snapshots().stream()
                    .map(host -> addTo(host, unsignalled))
                    .toList());
        }

        private static Snapshot addTo(Snapshot host, Set<String> unsignalled) {
            var known = host.details().missingPrivileges();
            var denied = new LinkedHashMap<String, String>();
            if (!known.contains(APPARMOR)) {
                // If one of the two is known to be missing, it is the reason; otherwise it may be either.
                if (Collections.disjoint(known, TO_READ) && isUnreadable(host)) {
                    TO_READ.forEach(privilege -> denied.put(privilege, NOT_READ));
                }
                if (!known.contains(KILL) && unsignalled.contains(host.host())) {
                    denied.put(KILL, NOT_SIGNALLED);
                }
            }
            if (denied.isEmpty()) {
                return host;
            }
            var missing =
                    Stream.concat(known.stream(), denied.keySet().stream()).toList();
            // First, because the number of reported problems is limited.
            var problems = Stream.concat(
                            denied.entrySet().stream()
                                    .map(each -> new Problem(
                                            ProblemCode.MISSING_PRIVILEGE, each.getKey() + each.getValue())),
                            host.problems().stream())
                    .toList();
            return host.with(host.details().withMissingPrivileges(missing)).withProblems(problems);
        }

        private static boolean isUnreadable(Snapshot host) {
            return host.allProcesses().stream()
                    .anyMatch(process -> process.membership().equals(Membership.NOT_PERMITTED));
        }
    }

    /** The problems that are reported besides those of the observations. */
    static final class HostProblems {
        /** The largest number of reported problems of a host; one more gives the number of the others. */
        private static final int MAX_PROBLEMS = 100;

        private static final int LONGEST_DETAIL = 1000;

        private HostProblems() {}

        /** Returns the fleet with problems that concern every host, and with those of the rules and actions, up to a limit. */
        static Fleet addTo(Fleet fleet, List<Problem> general, List<HostProblem> ofHosts) {
            var byHost = ofHosts.stream()
                    .collect(Collectors.groupingBy(
                            HostProblem::host, Collectors.mapping(HostProblem::problem, Collectors.toList())));
            return fleet.with(fleet.snapshots().stream()
                    .map(host -> report(
                            host, Stream.of(host.problems(), general, byHost.getOrDefault(host.host(), List.of()))))
                    .toList());
        }

        /** Users or tools may have written parts of the text. */
        static String escape(String text) {
            return SafeText.escape(text, LONGEST_DETAIL);
        }

        private static Snapshot report(Snapshot host, Stream<List<Problem>> problems) {
            var all = problems.flatMap(List::stream)
                    .map(problem -> new Problem(problem.code(), escape(problem.detail())))
                    .toList();
            return host.withProblems(all.size() <= MAX_PROBLEMS ? all : limit(all));
        }

        /** Cuts the most frequent codes first, so that many problems of one kind displace none of another kind. */
        private static List<Problem> limit(List<Problem> problems) {
            var counts = new EnumMap<ProblemCode, Integer>(ProblemCode.class);
            var ranks = problems.stream()
                    .map(problem -> counts.merge(problem.code(), 1, Integer::sum))
                    .toList();
            var reported = IntStream.range(0, problems.size())
                    .boxed()
                    .sorted(Comparator.comparing(ranks::get))
                    .limit(MAX_PROBLEMS)
                    .sorted()
                    .map(problems::get);
            var more = new Problem(ProblemCode.MORE_PROBLEMS, "and %d more".formatted(problems.size() - MAX_PROBLEMS));
            return Stream.concat(reported, Stream.of(more)).toList();
        }
    }
}
