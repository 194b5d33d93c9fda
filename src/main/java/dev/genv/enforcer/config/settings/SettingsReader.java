package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.config.settings.SettingErrors.InvalidSettingsException;
import dev.genv.enforcer.config.settings.Variables.UnknownVariables;
import dev.genv.enforcer.policy.RuleConfig;
import dev.genv.enforcer.policy.RuleDefinition;
import io.smallrye.config.ConfigMappingInterface.LeafProperty;
import io.smallrye.config.ConfigMappingInterface.OptionalProperty;
import io.smallrye.config.ConfigMappingInterface.PrimitiveProperty;
import io.smallrye.config.ConfigMappingInterface.Property;
import io.smallrye.config.ConfigMappings;
import io.smallrye.config.ConfigMappings.ConfigClass;
import io.smallrye.config.ConfigValidationException;
import io.smallrye.config.PropertiesConfigSource;
import io.smallrye.config.SmallRyeConfigBuilder;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Reads the settings with SmallRye Config from environment variables only. Quarkus's own configuration would also read files of
 * the working directory, and would accept empty and unknown variables.
 */
public final class SettingsReader {
    /** In the order of the documentation; the settings of the rules come after the first group. */
    public static final List<ConfigClass> GROUPS = Stream.of(
                    GeneralSettings.class,
                    SafetySettings.class,
                    GpuSettings.class,
                    StateSettings.class,
                    DataSettings.class,
                    HttpSettings.class,
                    NotificationSettings.class,
                    RemoteSettings.class)
            .map(ConfigClass::configClass)
            .toList();

    private static final String MAX_TERMINATIONS = "genv.enforcer.max-terminations-per-cycle";

    private final Variables variables;
    private final SettingErrors errors;
    private final Map<RuleDefinition, RuleConfig> rules;
    private final Map<String, String> values = new HashMap<>();

    private SettingsReader(Variables variables) {
        this.variables = variables;
        this.errors = new SettingErrors(variables);
        this.rules = RuleSettings.read(variables, errors);
        for (var group : GROUPS) {
            for (var property : group.getProperties().keySet()) {
                var value = variables.value(Variables.nameOf(property));
                if (!value.isEmpty() && !isExpressionOfQuarkus(property, value)) {
                    values.put(property, value.strip());
                }
            }
        }
    }

    /** Only Quarkus expands such a value and uses it, so only Quarkus can check it. */
    private static boolean isExpressionOfQuarkus(String property, String value) {
        return property.startsWith("quarkus.") && value.contains("${");
    }

    /** Reads all settings. The exception has every variable that is invalid, and not only the first. */
    public static Settings read(Variables variables) throws InvalidSettingsException {
        return new SettingsReader(variables).read();
    }

    public static SortedSet<String> variables() {
        var all = new TreeSet<>(RuleSettings.variables());
        GROUPS.forEach(group ->
                group.getProperties().keySet().stream().map(Variables::nameOf).forEach(all::add));
        return all;
    }

    private Settings read() throws InvalidSettingsException {
        var settings = readValid();
        var known = variables();
        new Contradictions(variables, errors).check(settings, known);
        UnknownVariables.check(variables, known, errors);
        errors.throwIfAny();
        return settings;
    }

    /** The settings without the invalid values, which become errors. */
    private Settings readValid() {
        GROUPS.forEach(group -> ConfigMappings.getProperties(group).forEach(this::check));
        try {
            var settings = map();
            // A single cycle has no limit by default, because no later cycle would terminate the other processes.
            if (settings.isSingleCycle() && values.putIfAbsent(MAX_TERMINATIONS, "0") == null) {
                return map();
            }
            return settings;
        } catch (ConfigValidationException _) { // its text and its cause may have a secret
            throw new IllegalStateException("the settings library refuses valid settings");
        }
    }

    /** The library would report an invalid value only in its own words, which may contain a secret. */
    private void check(String property, Property definition) {
        var value = values.get(property);
        var converter = converterOf(definition);
        if (value == null || converter.isEmpty()) {
            return;
        }
        try {
            converter.get().convert(value);
            if (converter.get() instanceof SettingConverter.EnumConverter) {
                values.put(property, value.toLowerCase(Locale.ROOT)); // the library knows the constants in lower case
            }
        } catch (IllegalArgumentException e) {
            values.remove(property);
            errors.add(Variables.nameOf(property), String.valueOf(e.getMessage()));
        }
    }

    /** Returns the converter of an annotation, or that of the constants of an enum; empty if the library converts every value. */
    static Optional<SettingConverter<?>> converterOf(Property definition) {
        return switch (definition) {
            case OptionalProperty optional -> converterOf(optional.getNestedProperty());
            case PrimitiveProperty primitive
            when primitive.hasConvertWith() -> Optional.of(create(primitive.getConvertWith()));
            case LeafProperty leaf when leaf.hasConvertWith() -> Optional.of(create(leaf.getConvertWith()));
            case LeafProperty leaf
            when leaf.getValueRawType().isEnum() ->
                Optional.of(new SettingConverter.EnumConverter(leaf.getValueRawType()));
            default -> Optional.empty();
        };
    }

    private static SettingConverter<?> create(Class<?> converter) {
        try {
            return (SettingConverter<?>) converter.getConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(converter + " has no public constructor", e);
        }
    }

    private Settings map() {
        var builder = new SmallRyeConfigBuilder().withSources(new PropertiesConfigSource(values, "environment", 100));
        GROUPS.forEach(builder::withMapping);
        var config = builder.build();
        return new Settings(
                config.getConfigMapping(GeneralSettings.class),
                rules,
                config.getConfigMapping(SafetySettings.class),
                config.getConfigMapping(GpuSettings.class),
                config.getConfigMapping(StateSettings.class),
                config.getConfigMapping(DataSettings.class),
                config.getConfigMapping(HttpSettings.class),
                config.getConfigMapping(NotificationSettings.class),
                config.getConfigMapping(RemoteSettings.class));
    }
}
