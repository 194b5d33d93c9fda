package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.PolicyValues.Value.Exempt;
import dev.genv.enforcer.policy.PolicyValues.Value.Mode;
import dev.genv.enforcer.policy.PolicyValues.Value.Most;
import dev.genv.enforcer.policy.PolicyValues.Value.Setting;
import dev.genv.enforcer.policy.PolicyValues.Value.Unlimited;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The values of a policy by their keys. A policy results from several of these, of which later ones take the place of earlier ones. */
public record PolicyValues(SortedMap<PolicyKey, Sourced> all) {
    /** How a policy has no limit. */
    public static final String UNLIMITED = "none";

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
        EXEMPT_CGROUP,
        /** A variable that no policy file has, and on which actions depend. */
        SETTING
    }

    /**
     * The key of a value.
     *
     * @param rule the name of the rule; empty for an exemption or a setting
     * @param name of a user, a group or a variable, or the path of a cgroup; empty for a rule as a whole
     */
    public record PolicyKey(Kind kind, String rule, String name) implements Comparable<PolicyKey> {
        private static final Comparator<PolicyKey> ORDER = Comparator.comparing(PolicyKey::kind)
                .thenComparing(PolicyKey::rule)
                .thenComparing(PolicyKey::name);

        @Override
        public int compareTo(PolicyKey other) {
            return ORDER.compare(this, other);
        }

        /** Returns why a user has this limit, such as {@code group phd}. */
        public String reason() {
            return switch (kind) {
                case USER -> "user " + name;
                case GROUP -> "group " + name;
                case USER_EXCEPTION -> "exception of user " + name;
                case GROUP_EXCEPTION -> "exception of group " + name;
                default -> "default";
            };
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
                case SETTING -> name;
            };
        }
    }

    /** A value. */
    public sealed interface Value {
        record Mode(RuleMode mode) implements Value {}

        record Most(int limit) implements Value {}

        record Unlimited() implements Value {}

        record Exempt() implements Value {}

        record Setting(String text) implements Value {}
    }

    /**
     * A value, and where it is from.
     *
     * @param origin a variable, or a place in the file
     * @param isStored whether it is one of an earlier cycle, whose origin is not stored
     */
    public record Sourced(Value value, String origin, boolean isStored) {
        public Sourced(Value value, String origin) {
            this(value, origin, false);
        }

        static Sourced stored(Value value) {
            return new Sourced(value, "the earlier policy", true);
        }
    }

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
        var found = all.get(new PolicyKey(kind, rule.name(), ""));
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

    /** Whether a rule is checked. */
    public boolean isOn(RuleDefinition rule) {
        return valueOf(Kind.MODE, rule) instanceof Mode(var mode) && mode != RuleMode.OFF;
    }

    /** A value as text, as it is stored. */
    public record Text(PolicyKey key, String text) {}

    /** Returns the values as texts. */
    public List<Text> texts() {
        return all.entrySet().stream()
                .map(each -> new Text(each.getKey(), text(each.getKey(), each.getValue().value)))
                .toList();
    }

    /** Returns values that were stored, without those of rules that do not exist. */
    public static PolicyValues of(List<Text> texts) {
        var values = new TreeMap<PolicyKey, Sourced>();
        texts.forEach(
                each -> value(each.key, each.text).ifPresent(value -> values.put(each.key, Sourced.stored(value))));
        return new PolicyValues(values);
    }

    private static Optional<Value> value(PolicyKey key, String text) {
        return switch (key.kind) {
            case MODE -> RuleMode.find(text).map(Mode::new);
            case EXEMPT_USER, EXEMPT_CGROUP -> Optional.of(new Exempt());
            case SETTING -> Optional.of(new Setting(text));
            default ->
                text.equals(UNLIMITED)
                        ? Optional.of(new Unlimited())
                        : Rules.find(key.rule)
                                .flatMap(rule -> rule.parseLimit(text))
                                .map(Most::new);
        };
    }

    /** Returns the values in the form of the file, without exceptions. */
    public Map<String, Map<String, ?>> form() {
        var form = new LinkedHashMap<String, Map<String, ?>>();
        form.put("rules", named(Kind.MODE, PolicyKey::rule, _ -> true));
        for (var rule : Rules.definitions()) {
            if (rule.hasLimit()) {
                Predicate<PolicyKey> isIts = key -> key.rule.equals(rule.name());
                var section = new LinkedHashMap<String, Object>(named(Kind.DEFAULT, _ -> "default", isIts));
                section.put("groups", named(Kind.GROUP, PolicyKey::name, isIts));
                section.put("users", named(Kind.USER, PolicyKey::name, isIts));
                form.put(rule.section(), section);
            }
        }
        form.put("exempt", Map.of("users", names(Kind.EXEMPT_USER), "cgroups", names(Kind.EXEMPT_CGROUP)));
        return form;
    }

    private Map<String, String> named(Kind kind, Function<PolicyKey, String> name, Predicate<PolicyKey> filter) {
        var named = new LinkedHashMap<String, String>();
        all.forEach((key, its) -> {
            if (key.kind == kind && filter.test(key)) {
                named.put(name.apply(key), text(key, its.value));
            }
        });
        return named;
    }

    /** Returns the names of the keys of a kind. */
    public List<String> names(Kind kind) {
        return all.keySet().stream()
                .filter(key -> key.kind == kind)
                .map(PolicyKey::name)
                .toList();
    }

    /** Whether other values have the same settings, which no file has. */
    public boolean hasSettingsOf(PolicyValues others) {
        return settings().equals(others.settings());
    }

    private Map<String, String> settings() {
        return named(Kind.SETTING, PolicyKey::name, _ -> true);
    }

    /** Returns where each value is from, by its place in the file. */
    public Map<String, String> sources() {
        var sources = new LinkedHashMap<String, String>();
        all.forEach((key, its) -> {
            if (key.kind != Kind.SETTING) {
                sources.put(key.path(), its.origin);
            }
        });
        return sources;
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

    private String text(PolicyKey key) {
        var found = all.get(key);
        return found == null ? "unset" : text(key, found.value);
    }

    private String origin(PolicyKey key) {
        var found = all.get(key);
        return found == null ? "" : " (" + SafeText.escape(found.origin) + ")";
    }

    /** Returns a value as the file has it. */
    public static String text(PolicyKey key, Value value) {
        return switch (value) {
            case Mode(var mode) -> mode.label();
            case Most(var limit) ->
                Rules.find(key.rule).map(rule -> rule.limitText(limit)).orElse(String.valueOf(limit));
            case Unlimited() -> UNLIMITED;
            case Exempt() -> "exempt";
            case Setting(var text) -> text;
        };
    }
}
