package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.KnownRules.MAX_DEVICES_PER_USER;
import static dev.genv.enforcer.testsupport.KnownRules.MAX_MEMORY_PER_USER;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A fleet and a policy in words, one entry a line. Each host has three devices; without a line {@code host} there is one, the service's node.
 */
final class DescribedFleet {
    private static final String HERE = "here";

    private final List<HostBuilder> hosts = new ArrayList<>();
    private final Map<RuleDefinition, RuleMode> modes = new HashMap<>();
    private final Set<HostProcess> signalled = new HashSet<>();
    /** Those whose termination is not due. */
    private final Set<HostProcess> waiting = new HashSet<>();

    private final Set<HostProcess> overdue = new HashSet<>();
    private final Map<Appearances.Key, Long> appeared = new HashMap<>();
    private String name = HERE;
    private HostBuilder host = HostBuilder.host().devices(3);
    private boolean hasHistory = true;
    private Limits devices = Limits.NONE;
    private Limits memory = Limits.NONE;

    DescribedFleet(List<String> lines) {
        lines.forEach(this::add);
    }

    /** Returns the actions, and the codes of the problems. */
    String planned() {
        var all = hosts.isEmpty()
                ? List.of(host.snapshot())
                : hosts.stream().map(HostBuilder::snapshot).toList();
        var fleet = new Fleet(all, !hosts.isEmpty());
        var plan = KnownRules.policy(modes, devices, memory)
                .check(
                        hasHistory ? fleet : fleet.with(new Appearances(appeared, false)),
                        new Rule.ExpectedExits(signalled, overdue, Set.of()),
                        (_, action) -> action.process().immunity() == null && !waiting.contains(action.target()));
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

    private void add(String line) {
        var words = new ArrayDeque<>(List.of(line.split(" ")));
        var kind = words.remove();
        switch (kind) {
            case "enforce" -> words.forEach(rule -> modes.put(KnownRules.named(rule), RuleMode.ENFORCE));
            case "limit" -> {
                modes.put(MAX_DEVICES_PER_USER, RuleMode.ENFORCE);
                devices = limits(words);
            }
            case "memory" -> {
                modes.put(MAX_MEMORY_PER_USER, RuleMode.ENFORCE);
                memory = limits(words);
            }
            case "host" -> {
                name = words.remove();
                host = HostBuilder.host(name).devices(3);
                hosts.add(host);
            }
            case "signalled" -> signalled.add(GpuProcessBuilder.id(name, number(words)));
            case "waits" -> waiting.add(GpuProcessBuilder.id(name, number(words)));
            case "overdue" -> {
                overdue.add(GpuProcessBuilder.id(name, number(words)));
                signalled.addAll(overdue);
            }
            case "appeared" -> {
                hasHistory = false;
                var key = new Appearances.Key(name, words.remove(), number(words));
                appeared.put(key, words.isEmpty() ? 1L : number(words));
            }
            case "no-history" -> hasHistory = false;
            default -> host.with(line);
        }
    }

    private static Limits limits(Queue<String> words) {
        Integer general = null;
        var perUser = new HashMap<String, Integer>();
        for (var word : words) {
            var parts = word.split("=", -1);
            if (parts.length == 1) {
                general = Integer.valueOf(word);
            } else {
                perUser.put(parts[0], Integer.valueOf(parts[1]));
            }
        }
        return new Limits(general, perUser);
    }

    private static int number(Queue<String> words) {
        return Integer.parseInt(words.remove());
    }
}
