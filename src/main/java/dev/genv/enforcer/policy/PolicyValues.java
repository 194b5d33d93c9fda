package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.PolicyValues.Value.Exempt;
import dev.genv.enforcer.policy.PolicyValues.Value.Mode;
import dev.genv.enforcer.policy.PolicyValues.Value.Most;
import dev.genv.enforcer.policy.PolicyValues.Value.Unlimited;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The values of a policy by their keys. A policy results from several of these, of which later ones take the place of earlier ones. */
public record PolicyValues(SortedMap<Key, Sourced> all) {
    public static final PolicyValues NONE = new PolicyValues(new TreeMap<>());

    public PolicyValues {
        all = Collections.unmodifiableSortedMap(new TreeMap<>(all));
    }

    /** What a value is of. The kinds are in the order of the file. */
    public enum Kind {
        MODE,
        DEFAULT,
        GROUP,
        USER,
        GROUP_EXCEPTION,
        USER_EXCEPTION,
        EXEMPT_USER,
        EXEMPT_CGROUP
    }

    /**
     * The key of a value.
     *
     * @param rule the name of the rule; empty for an exemption
     * @param name of a user or a group, or the path of a cgroup; empty for a rule as a whole
     */
    public record Key(Kind kind, String rule, String name) implements Comparable<Key> {
        private static final Comparator<Key> ORDER =
                Comparator.comparing(Key::kind).thenComparing(Key::rule).thenComparing(Key::name);

        @Override
        public int compareTo(Key other) {
            return ORDER.compare(this, other);
        }

        /** Returns the place in the file, such as {@code max_devices.users.john}. */
        public String path() {
            var section = Rules.find(rule).map(RuleDefinition::section).orElse(rule);
            return switch (kind) {
                case MODE -> "rules." + rule;
                case DEFAULT -> section + ".default";
                case GROUP -> section + ".groups." + name;
                case USER -> section + ".users." + name;
                case GROUP_EXCEPTION -> "exceptions.group " + name + "." + section;
                case USER_EXCEPTION -> "exceptions.user " + name + "." + section;
                case EXEMPT_USER -> "exempt.users." + name;
                case EXEMPT_CGROUP -> "exempt.cgroups." + name;
            };
        }
    }

    /** A value. */
    public sealed interface Value {
        record Mode(RuleMode mode) implements Value {}

        record Most(int limit) implements Value {}

        record Unlimited() implements Value {}

        record Exempt() implements Value {}
    }

    /** @param origin where the value is from: a variable, or a place in the file */
    public record Sourced(Value value, String origin) {}

    /** Returns these values with others, which take the place of those with the same key. */
    public PolicyValues with(PolicyValues others) {
        var both = new TreeMap<>(all);
        both.putAll(others.all);
        return new PolicyValues(both);
    }

    /** Returns how the rules are configured. A rule without a mode is off. */
    public Policy policy(IdleLimits idle) {
        var configs = new HashMap<RuleDefinition, RuleConfig>();
        for (var rule : Rules.definitions()) {
            if (valueOf(Kind.MODE, rule) instanceof Mode(var mode)) {
                var general = valueOf(Kind.DEFAULT, rule) instanceof Most(var limit) ? Integer.valueOf(limit) : null;
                var exceptions =
                        new Limits(null, limits(Kind.GROUP_EXCEPTION, rule), limits(Kind.USER_EXCEPTION, rule));
                var limits = new Limits(general, limits(Kind.GROUP, rule), limits(Kind.USER, rule));
                configs.put(rule, new RuleConfig(mode, limits.with(exceptions)));
            }
        }
        return new Policy(configs, idle);
    }

    private @Nullable Value valueOf(Kind kind, RuleDefinition rule) {
        var found = all.get(new Key(kind, rule.name(), ""));
        return found == null ? null : found.value;
    }

    private Map<String, Integer> limits(Kind kind, RuleDefinition rule) {
        var limits = new HashMap<String, Integer>();
        all.forEach((key, its) -> {
            if (key.kind == kind && key.rule.equals(rule.name()) && its.value instanceof Most(var limit)) {
                limits.put(key.name, limit);
            }
        });
        return limits;
    }

    /** Returns the keys of these kinds. */
    public Stream<Key> keys(Kind... kinds) {
        return all.keySet().stream().filter(key -> List.of(kinds).contains(key.kind));
    }

    /** Whether another policy asks for the same. */
    public boolean hasSameValues(PolicyValues other) {
        return changes(other).isEmpty();
    }

    /** Returns one clause for each value that differs in a later policy, such as {@code max_devices.default: 2 -> 0 (line 3)}. */
    public List<String> changes(PolicyValues later) {
        var keys = new TreeSet<>(all.keySet());
        keys.addAll(later.all.keySet());
        return keys.stream()
                .filter(key -> !Objects.equals(
                        Optional.ofNullable(all.get(key)).map(Sourced::value),
                        Optional.ofNullable(later.all.get(key)).map(Sourced::value)))
                .map(key -> "%s: %s -> %s"
                        .formatted(SafeText.escape(key.path()), text(key), later.text(key) + later.origin(key)))
                .toList();
    }

    private String text(Key key) {
        var found = all.get(key);
        return found == null ? "unset" : text(key, found.value);
    }

    private String origin(Key key) {
        var found = all.get(key);
        return found == null ? "" : " (" + SafeText.escape(found.origin) + ")";
    }

    /** Returns a value as the file has it. */
    public static String text(Key key, Value value) {
        return switch (value) {
            case Mode(var mode) -> mode.label();
            case Most(var limit) ->
                Rules.find(key.rule).map(rule -> rule.limitText(limit)).orElse(String.valueOf(limit));
            case Unlimited() -> "none";
            case Exempt() -> "exempt";
        };
    }
}
