package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.observation.ConfiguredUsers;
import dev.genv.enforcer.policy.PolicyValues;
import dev.genv.enforcer.policy.PolicyValues.Kind;
import dev.genv.enforcer.policy.PolicyValues.PolicyKey;
import dev.genv.enforcer.policy.PolicyValues.Sourced;
import dev.genv.enforcer.policy.PolicyValues.Value;
import dev.genv.enforcer.policy.Rule.RuleSetting;
import dev.genv.enforcer.policy.RuleConfig;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Rules;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The settings that the rules declare. A mapping of SmallRye Config is static, so they are read by their names. */
public final class RuleSettings {
    public static final String EXEMPT_USERS = "GENV_ENFORCER_EXEMPT_USERS";
    public static final String EXEMPT_CGROUPS = "GENV_ENFORCER_EXEMPT_CGROUPS";
    private static final String PREFIX = "genv.enforcer.";
    private static final SettingParser<Integer> MEMORY_LIMIT =
            new SettingParser<>(Rules.MAX_MEMORY_PER_USER.limitForm(), Rules.MAX_MEMORY_PER_USER::parseLimit);

    private RuleSettings() {}

    /** Reads the configuration of each rule, in the order of the checks. An invalid value becomes an error, and the default takes its place. */
    public static Map<RuleDefinition, RuleConfig> read(Variables variables) {
        var configs = new LinkedHashMap<RuleDefinition, RuleConfig>();
        Rules.definitions().forEach(rule -> configs.put(rule, read(rule, variables)));
        return configs;
    }

    /** Returns the variables of all rules, in the order of the documentation. */
    public static List<String> variables() {
        return Rules.definitions().stream()
                .flatMap(rule -> rule.settings().stream())
                .map(RuleSettings::variableOf)
                .toList();
    }

    /** Returns what the variables set, or their defaults: the values that a policy file overrides. */
    public static PolicyValues values(
            Map<RuleDefinition, RuleConfig> configs, List<String> exemptUsers, List<String> exemptCgroups) {
        var exempt = Map.of(Kind.EXEMPT_USER, exemptUsers, Kind.EXEMPT_CGROUP, exemptCgroups);
        var values = new TreeMap<PolicyKey, Sourced>();
        configs.forEach((rule, config) -> rule.settings().forEach(setting -> {
            var limits = config.limits();
            var variable = variableOf(setting);
            switch (setting.kind()) {
                case MODE ->
                    values.put(
                            new PolicyKey(Kind.MODE, rule.name(), ""),
                            new Sourced(new Value.Mode(config.mode()), variable));
                case LIMIT, MEMORY_LIMIT -> {
                    Value general = limits.general() == null ? new Value.Unlimited() : new Value.Most(limits.general());
                    values.put(new PolicyKey(Kind.DEFAULT, rule.name(), ""), new Sourced(general, variable));
                }
                case LIMITS_OF_USERS, MEMORY_LIMITS_OF_USERS ->
                    limits.perUser().forEach((user, most) -> put(values, Kind.USER, rule, user, most, variable));
                case LIMITS_OF_GROUPS, MEMORY_LIMITS_OF_GROUPS ->
                    limits.perGroup().forEach((group, most) -> put(values, Kind.GROUP, rule, group, most, variable));
            }
        }));
        exempt.forEach((kind, names) -> names.forEach(name -> values.put(
                new PolicyKey(kind, "", name),
                new Sourced(new Value.Exempt(), kind == Kind.EXEMPT_USER ? EXEMPT_USERS : EXEMPT_CGROUPS))));
        return new PolicyValues(values);
    }

    /** Returns the variables that no policy file has, and on which it depends whom the rules concern. */
    public static PolicyValues others(SafetySettings safety) {
        var values = new TreeMap<PolicyKey, Sourced>();
        Map.of(
                        "IDLE_AFTER", safety.idleAfter(),
                        "IDLE_UTILIZATION", safety.idleUtilization(),
                        "PROTECTED_EXECUTABLES", safety.protectedExecutables(),
                        "OVERWRITTEN_ENVIRON", safety.overwrittenEnviron())
                .forEach((name, value) -> {
                    var variable = "GENV_ENFORCER_" + name;
                    values.put(
                            new PolicyKey(Kind.SETTING, "", variable),
                            new Sourced(new Value.Setting(value.toString()), variable));
                });
        return new PolicyValues(values);
    }

    private static void put(
            Map<PolicyKey, Sourced> values, Kind kind, RuleDefinition rule, String name, int most, String variable) {
        values.put(new PolicyKey(kind, rule.name(), name), new Sourced(new Value.Most(most), variable));
    }

    public static String variableOf(RuleSetting setting) {
        return Variables.nameOf(PREFIX + setting.name());
    }

    /** Returns the parser of a mode, a limit, or the limits of users. genv's own flags use {@code false} and {@code true}. */
    static SettingParser<?> parserOf(RuleSetting.Kind kind) {
        return switch (kind) {
            case MODE ->
                SettingParser.ofChoices(
                        List.of(RuleMode.OFF, RuleMode.AUDIT, RuleMode.ENFORCE),
                        Map.of("false", RuleMode.OFF, "true", RuleMode.ENFORCE));
            case LIMIT -> SettingKind.limit();
            case MEMORY_LIMIT -> MEMORY_LIMIT;
            case LIMITS_OF_USERS ->
                new SettingParser<>(
                        "users with a limit each, each once, such as john=3,paul=2",
                        value -> limitsOf(value, SettingKind.limit()));
            case LIMITS_OF_GROUPS ->
                new SettingParser<>(
                        "groups with a limit each, each once, such as phd=4,undergrad=1",
                        value -> limitsOf(value, SettingKind.limit()));
            case MEMORY_LIMITS_OF_USERS ->
                new SettingParser<>(
                        "users with an amount of memory each, each once, such as john=40g,paul=512mi",
                        value -> limitsOf(value, MEMORY_LIMIT));
            case MEMORY_LIMITS_OF_GROUPS ->
                new SettingParser<>(
                        "groups with an amount of memory each, each once, such as phd=40g,undergrad=512mi",
                        value -> limitsOf(value, MEMORY_LIMIT));
        };
    }

    private static RuleConfig read(RuleDefinition rule, Variables variables) {
        var mode = rule.defaultMode();
        var limits = Limits.NONE;
        for (var setting : rule.settings()) {
            switch (read(setting, variables).orElse(null)) {
                case RuleMode given -> mode = given;
                case Integer limit -> limits = new Limits(limit, limits.perGroup(), limits.perUser());
                case NamedLimits(var ofGroups)
                when setting.kind().isOfGroups() -> limits = new Limits(limits.general(), ofGroups, limits.perUser());
                case NamedLimits(var ofUsers) -> limits = new Limits(limits.general(), limits.perGroup(), ofUsers);
                case null, default -> {}
            }
        }
        return new RuleConfig(mode, limits);
    }

    private static Optional<?> read(RuleSetting setting, Variables variables) {
        var variable = variableOf(setting);
        if (!variables.isSet(variable)) {
            return Optional.empty();
        }
        try {
            return Optional.of(parserOf(setting.kind()).parse(variables.value(variable)));
        } catch (IllegalArgumentException e) {
            variables.refuse(variable, String.valueOf(e.getMessage()));
            return Optional.empty();
        }
    }

    /** The limits of users or of groups. */
    private record NamedLimits(Map<String, Integer> limits) {}

    private static Optional<NamedLimits> limitsOf(String value, SettingParser<Integer> limit) {
        var limits = new LinkedHashMap<String, Integer>();
        for (var entry : SettingKind.entries(value)) {
            var equals = entry.lastIndexOf('=');
            if (equals < 1
                    || !ConfiguredUsers.isUser(entry.substring(0, equals))
                    || limits.put(entry.substring(0, equals), limit.parse(entry.substring(equals + 1))) != null) {
                return Optional.empty();
            }
        }
        return Optional.of(new NamedLimits(limits));
    }
}
