package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.KnownRules.MAX_DEVICES_PER_USER;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A fleet and a policy in words, one entry a line. Each host has three devices; without a line {@code host} there is one, the service's node.
 */
final class DescribedFleet {
    private static final String HERE = "here";

    private final List<HostBuilder> hosts = new ArrayList<>();
    private final Map<RuleDefinition, RuleMode> modes = new HashMap<>();
    private final Map<String, Integer> userLimits = new HashMap<>();
    private final Set<HostProcess> signalled = new HashSet<>();
    private final Set<HostProcess> overdue = new HashSet<>();
    private final Map<Appearances.Key, Long> appeared = new HashMap<>();
    private String name = HERE;
    private HostBuilder host = HostBuilder.host().devices(3);
    private boolean hasHistory = true;
    private @Nullable Integer limit;

    DescribedFleet(List<String> lines) {
        lines.forEach(line -> add(new ArrayDeque<>(List.of(line.split(" ")))));
    }

    /** Returns the actions, and the codes of the problems. */
    String planned() {
        var all = hosts.isEmpty()
                ? List.of(host.snapshot())
                : hosts.stream().map(HostBuilder::snapshot).toList();
        var fleet = new Fleet(all, !hosts.isEmpty());
        var plan = KnownRules.policy(modes, new Limits(limit, userLimits))
                .check(
                        hasHistory ? fleet : fleet.with(new Appearances(appeared, false)),
                        new Rule.ExpectedExits(signalled, overdue, Set.of()));
        var actions = plan.actions().stream()
                .map(planned -> describe(planned.action()))
                .collect(Collectors.joining(", "));
        var problems = plan.problems().stream()
                .map(problem -> problem.problem().code().name())
                .collect(Collectors.joining(" "));
        return (!actions.isEmpty() ? actions : plan.violations().isEmpty() ? "nothing" : "only reported")
                + (problems.isEmpty() ? "" : " (" + problems + ")");
    }

    private static String describe(Action action) {
        var prefix = action.host().equals(HERE) ? "" : action.host() + "/";
        return switch (action) {
            case Action.Terminate terminate ->
                "terminate " + prefix + terminate.process().pid();
            case Action.Detach detach ->
                "detach " + prefix + detach.environment().eid() + " " + detach.device();
        };
    }

    private void add(Queue<String> words) {
        var kind = words.remove();
        switch (kind) {
            case "enforce" -> words.forEach(rule -> modes.put(KnownRules.named(rule), RuleMode.ENFORCE));
            case "limit" -> {
                modes.put(MAX_DEVICES_PER_USER, RuleMode.ENFORCE);
                words.forEach(this::limit);
            }
            case "host" -> {
                name = words.remove();
                host = HostBuilder.host(name).devices(3);
                hosts.add(host);
            }
            case "env" -> host.with(environment(words));
            case "process" -> host.with(process(words));
            case "unlisted" -> host.withUnlisted(process(words));
            case "opened" -> host.withFilesOpen(process(words));
            case "missing" -> host.missing(SnapshotPart.valueOf(words.remove()));
            case "shell" -> host.pidOf(number(words), number(words));
            case "subordinate" -> host.subordinate(number(words), number(words), number(words));
            case "signalled" -> signalled.add(GpuProcessBuilder.id(name, number(words)));
            case "overdue" -> {
                overdue.add(GpuProcessBuilder.id(name, number(words)));
                signalled.addAll(overdue);
            }
            case "appeared" -> {
                hasHistory = false;
                appeared.put(new Appearances.Key(name, words.remove(), number(words)), 1L);
            }
            case "no-history" -> hasHistory = false;
            default -> throw new IllegalArgumentException(kind);
        }
    }

    private void limit(String text) {
        var parts = text.split("=", -1);
        if (parts.length == 1) {
            limit = Integer.valueOf(text);
        } else {
            userLimits.put(parts[0], Integer.valueOf(parts[1]));
        }
    }

    private static EnvBuilder environment(Queue<String> words) {
        var environment = EnvBuilder.env(words.remove());
        var devices = new int[0];
        var time = EnvBuilder.TIME;
        while (!words.isEmpty()) {
            var word = words.remove();
            switch (word) {
                case "of" -> environment.user(words.remove());
                case "unnamed" -> environment.withoutUsername();
                case "uid" -> environment.uid(number(words));
                case "capacity" -> environment.capacity(words.remove());
                case "live" -> environment.livePidsOf(number(words));
                case "account" -> environment.account();
                case "disputed" -> environment.disputed("so");
                case "pids" -> environment.pids(number(words));
                case "on" ->
                    devices = Arrays.stream(words.remove().split(","))
                            .mapToInt(Integer::parseInt)
                            .toArray();
                case "at" -> time = time(words);
                default -> throw new IllegalArgumentException(word);
            }
        }
        return environment.attachedAt(time, devices);
    }

    private static String time(Queue<String> words) {
        var word = words.remove();
        return switch (word) {
            case "OLD" -> "01/01/2026 00:00:00";
            case "NEW" -> "31/12/2026 00:00:00";
            default -> word + " " + words.remove();
        };
    }

    private static GpuProcessBuilder process(Queue<String> words) {
        var process = GpuProcessBuilder.process(number(words));
        while (!words.isEmpty()) {
            var word = words.remove();
            switch (word) {
                case "in" -> process.inEnvironment(words.remove());
                case "unknown" -> process.membershipUnknown();
                case "listed" -> process.listed();
                case "immune" -> process.immune(Immunity.Kind.PROTECTED, "so");
                case "later" -> process.startedLaterBy(number(words));
                case "uid" -> uid(process, words.remove());
                case "on" -> Arrays.stream(words.remove().split(",")).forEach(use -> use(process, use.split("=", -1)));
                default -> throw new IllegalArgumentException(word);
            }
        }
        return process;
    }

    private static void uid(GpuProcessBuilder process, String text) {
        if (text.equals("?")) {
            process.uidUnknown();
        } else {
            process.uid(Long.parseLong(text));
        }
    }

    /** A device, and how much memory is used there. */
    private static void use(GpuProcessBuilder process, String[] parts) {
        var device = Integer.parseInt(parts[0]);
        if (parts.length == 1) {
            process.uses(device);
        } else if (parts[1].equals("?")) {
            process.usesUnknown(device);
        } else {
            process.uses(device, parts[1]);
        }
    }

    private static int number(Queue<String> words) {
        return Integer.parseInt(words.remove());
    }
}
