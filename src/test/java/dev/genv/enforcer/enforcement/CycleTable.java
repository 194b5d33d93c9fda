package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.id;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.TableRow;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Cases in words: a line is a setting, or what the host shows, or how it answers, and the seconds of the cycles in which it does so. In a
 * description of the host, {@code NEXT} is another number in each cycle, {@code started 5} a process that was started at second 5, and
 * {@code young} one that was started two seconds before the cycle.
 */
abstract class CycleTable {
    private static final Map<String, String> HOSTS = Map.of(
            "stray", "process 1 on 0",
            "stray-later", "process 1 later 5 on 0",
            "empty", "",
            "unobserved", "missing PROCESSES",
            "full", "env a capacity 1000mi on 0; process 1 in a on 0=600mi; process 2 in a on 0=700mi",
            "slightly-less", "env a capacity 1000mi on 0; process 1 in a on 0=600mi; process 2 in a on 0=500mi",
            "more-capacity", "env a capacity 2000mi on 0; process 1 in a on 0=600mi; process 2 in a on 0=500mi",
            "dropped", "env a capacity 1000mi on 0; process 1 in a on 0=10mi; process 2 in a on 0=1100mi",
            "alone", "env a capacity 1000mi on 0; process 1 in a on 0=600mi",
            "incomplete", "env a capacity 1000mi on 0; process 1 in a on 0=10mi; missing EVERY_PROCESS");

    private static final Pattern STARTED = Pattern.compile("started (-?\\d+)");
    private static final Pattern RANGE = Pattern.compile("(\\d+)-(\\d+)/(\\d+)");
    private static final long FIRST_START = 8768; // ticks from the default start of a process to the first cycle

    /** When the cycles begin if the service observed an empty host long before. */
    private static final Duration BEGIN = Duration.ofSeconds(100);

    private final FakeTime time = new FakeTime();
    private final ViolationRegistry registry = new ViolationRegistry(100);
    private final FakeHost node = new FakeHost(HostBuilder.host());
    private final List<Host> hosts = new ArrayList<>(List.of(node));
    private final Set<RuleDefinition> rules = new HashSet<>(List.of(KnownRules.all()));
    private final List<String> signals = new ArrayList<>();
    private Limits limits = Limits.NONE;
    private Limits memory = Limits.NONE;
    private Duration grace = Duration.ZERO;
    private @Nullable Duration killAfter = Duration.ofSeconds(30);
    private Duration compliancePeriod = Duration.ofSeconds(60);
    private int terminationLimit;
    private Duration interval = Duration.ofDays(1);
    private Duration begin = Duration.ZERO;
    private boolean breaksOff;
    private long ticksAtStart = 1_000_000;
    private @Nullable Enforcer enforcer;

    CycleTable() {
        rules.remove(KnownRules.ENV_OWNER);
    }

    /** The expected line names the actions: a pid and a signal, or a detachment, and the second. */
    void verify(TableRow row) {
        row.lines().forEach(this::follow);
        assertThat(described(signals)).isEqualTo(row.expected());
    }

    private static String described(List<String> found) {
        return "→ " + (found.isEmpty() ? "nothing" : String.join(", ", found));
    }

    /** The expected line names the outcomes that are recorded. */
    void verifyOutcomes(TableRow row) {
        row.lines().forEach(this::follow);
        var outcomes = registry.find(_ -> true, 100).stream()
                .flatMap(entry -> entry.actions().stream())
                .map(note -> note.outcome().label());
        assertThat(described(outcomes.toList())).isEqualTo(row.expected());
    }

    /** The expected line names what follows on the active violations, from which second on, and what it waits for. */
    void verifyNext(TableRow row) {
        row.lines().forEach(this::follow);
        var next = registry.find(ViolationRecord::active, 100).stream()
                .flatMap(entry -> entry.next().stream())
                .distinct()
                .map(action -> "%s %d %s"
                        .formatted(
                                action.signal() == null
                                        ? "detach " + action.target().environment()
                                        : action.target().pid() + " " + action.signal(),
                                Duration.between(FakeTime.START, action.notBefore())
                                        .toSeconds(),
                                action.because().label()));
        assertThat(described(next.toList())).isEqualTo(row.expected());
    }

    void follow(String line) {
        var words = List.of(line.split(" ", -1));
        var rest = words.subList(1, words.size());
        switch (words.getFirst()) {
            case "grace" -> grace = seconds(rest);
            case "kill-after" -> killAfter = rest.equals(List.of("never")) ? null : seconds(rest);
            case "compliance-period" -> compliancePeriod = seconds(rest);
            case "interval" -> interval = seconds(rest);
            case "limit" -> terminationLimit = Integer.parseInt(rest.getFirst());
            case "devices-per-user" -> limits = new Limits(Integer.valueOf(rest.getFirst()), Map.of());
            case "memory-per-user" -> memory = new Limits(Integer.valueOf(rest.getFirst()), Map.of());
            case "without" -> rules.remove(KnownRules.named(rest.getFirst()));
            case "with" -> rules.add(KnownRules.named(rest.getFirst()));
            case "observed-before" -> begin = BEGIN;
            case "lose-answers" -> node.answerWith(_ -> Result.lost("the connection was lost"));
            case "fail" ->
                node.answerWith(_ -> {
                    throw new IllegalStateException("a defect");
                });
            case "answer" -> node.answerWith(_ -> Result.of(Outcome.SIGNALLED));
            case "deny" ->
                node.answerWith(action -> Result.of(isAmong(rest, action) ? Outcome.DENIED : Outcome.SIGNALLED));
            case "unlist" -> hosts.clear();
            case "list" -> hosts.add(node);
            case "exited" ->
                node.setExited(id("here", Integer.parseInt(rest.getFirst())).id());
            case "machine" -> node.setMachine(rest.getFirst());
            case "reboot" -> ticksAtStart = 0;
            case "duplicate" -> {
                var other = List.of(new Problem(ProblemCode.DUPLICATE_HOST, "it is another name of a machine"));
                node.observeWith(() -> host("", 0).snapshot().withProblems(other));
                times(rest).forEach(this::cycle);
            }
            case "unreachable" -> {
                node.observeWith(() -> {
                    throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "no answer");
                });
                times(rest).forEach(this::cycle);
            }
            case "break-off" -> {
                breaksOff = true;
                times(rest).forEach(this::cycle);
                breaksOff = false;
            }
            default -> {
                var described = HOSTS.get(words.getFirst());
                var parts = List.of(line.split(" @ ", -1));
                var seconds = described == null ? List.of(parts.getLast().split(" ", -1)) : rest;
                if (!begin.isZero() && enforcer == null) {
                    enforcer = start();
                    node.setSnapshot(host("", 0)).setTicks(1);
                    enforcer.runCycle();
                }
                times(seconds).forEach(second -> {
                    node.setSnapshot(host(described == null ? parts.getFirst() : described, second));
                    cycle(second);
                });
            }
        }
    }

    private void cycle(int second) {
        var running = enforcer == null ? start() : enforcer;
        enforcer = running;
        time.passTo(begin.plusSeconds(second));
        node.setTicks(ticksAtStart + 100L * second);
        var before = node.executed.size();
        var report = running.runCycle().orElseThrow();
        assertThat(report.result() == CycleResult.FAILED).isEqualTo(breaksOff);
        node.executed.stream().skip(before).forEach(action -> signals.add(describe(action) + " " + second));
    }

    private Enforcer start() {
        var config = EnforcerConfigBuilder.enforcerConfig(this::hosts)
                .rules(
                        rules.stream().collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE)),
                        limits,
                        memory)
                .safetyLimits(new SafetyLimits(grace, killAfter, compliancePeriod, terminationLimit))
                .interval(interval)
                .build();
        return EnforcerFactory.create(config, NoStore.records(registry), time.ticker(), List.of());
    }

    private List<Host> hosts() {
        if (breaksOff) {
            throw new IllegalStateException("no list of hosts");
        }
        return List.copyOf(hosts);
    }

    private static HostBuilder host(String description, int second) {
        var host = HostBuilder.host().devices(3);
        if (description.isEmpty()) {
            return host;
        }
        var text = description
                .replace("NEXT", Integer.toString(100 + second))
                .replace("young", "started " + (second - 2))
                .replace("LONG", "x".repeat(5000));
        var started = STARTED.matcher(text)
                .replaceAll(found -> "later " + (FIRST_START + 100 * Long.parseLong(found.group(1))));
        return host.with(started.split("; ", -1));
    }

    private static IntStream times(List<String> words) {
        return words.stream().flatMapToInt(word -> {
            var range = RANGE.matcher(word);
            return range.matches()
                    ? IntStream.iterate(
                            Integer.parseInt(range.group(1)),
                            second -> second <= Integer.parseInt(range.group(2)),
                            second -> second + Integer.parseInt(range.group(3)))
                    : IntStream.of(Integer.parseInt(word));
        });
    }

    private static Duration seconds(List<String> words) {
        return Duration.ofSeconds(Long.parseLong(words.getFirst()));
    }

    /** The words are signals or pids. */
    private static boolean isAmong(List<String> words, Action action) {
        return action instanceof Action.Terminate terminate
                && (words.contains(terminate.signal().name())
                        || words.contains(Integer.toString(terminate.process().pid())));
    }

    private static String describe(Action action) {
        return switch (action) {
            case Action.Terminate terminate -> terminate.process().pid() + " " + terminate.signal();
            case Action.Detach detach -> "detach " + detach.environment().eid();
        };
    }
}
