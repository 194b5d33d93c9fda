package dev.genv.enforcer.config.settings.converters;

import dev.genv.enforcer.enforcement.action.ServiceMode;
import dev.genv.enforcer.policy.definition.RuleMode;
import dev.genv.enforcer.telemetry.genv.GenvMetrics;
import java.util.List;
import java.util.Locale;

/** Converters of words. */
@SuppressWarnings("serial")
public final class Choices {
    private Choices() {}

    /** The mode of the service. */
    public static final class Mode extends ChoiceConverter<ServiceMode> {
        public Mode() {
            super(List.of(ServiceMode.ENFORCE, ServiceMode.AUDIT));
        }

        @Override
        public ServiceMode convert(String value) {
            return choose(value);
        }
    }

    /** The mode of a rule. genv's own flags use {@code false} and {@code true}. */
    public static final class ModeOfRule extends ChoiceConverter<RuleMode> {
        public ModeOfRule() {
            super(List.of(RuleMode.OFF, RuleMode.AUDIT, RuleMode.ENFORCE));
            addAlias("false", RuleMode.OFF);
            addAlias("true", RuleMode.ENFORCE);
        }

        @Override
        public RuleMode convert(String value) {
            return choose(value);
        }
    }

    /** The mode of a rule that only reports. */
    public static final class ModeOfReport extends ChoiceConverter<RuleMode> {
        public ModeOfReport() {
            super(List.of(RuleMode.OFF, RuleMode.AUDIT));
            addAlias("false", RuleMode.OFF);
        }

        @Override
        public RuleMode convert(String value) {
            try {
                return choose(value);
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException(e.getMessage() + ", because this rule only reports", e);
            }
        }
    }

    /** Which of genv's own metrics are exported. */
    public static final class MetricsOfGenv extends ChoiceConverter<GenvMetrics> {
        public MetricsOfGenv() {
            super(List.of(GenvMetrics.values()));
        }

        @Override
        public GenvMetrics convert(String value) {
            return choose(value);
        }
    }

    /** A switch. */
    public static final class TrueOrFalse extends ChoiceConverter<Boolean> {
        public TrueOrFalse() {
            super(List.of(true, false));
        }

        @Override
        public Boolean convert(String value) {
            return choose(value);
        }
    }

    /** A switch of a function. YAML reads {@code on} and {@code off} without quotes as {@code true} and {@code false}. */
    public static final class OnOrOff extends SettingConverter<Boolean> {
        public OnOrOff() {
            super("on or off");
        }

        @Override
        public Boolean convert(String value) {
            return switch (value.toLowerCase(Locale.ROOT)) {
                case "on", "true" -> true;
                case "off", "false" -> false;
                default -> throw invalid();
            };
        }
    }
}
