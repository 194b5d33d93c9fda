package dev.genv.enforcer.config.settings.converters;

import dev.genv.enforcer.enforcement.ServiceMode;
import dev.genv.enforcer.policy.RuleMode;
import java.util.List;

/** Words to choose from. */
@SuppressWarnings("serial")
public final class Choices {
    private Choices() {}

    /** What the service may do. */
    public static final class Mode extends ChoiceConverter<ServiceMode> {
        public Mode() {
            super(List.of(ServiceMode.ENFORCE, ServiceMode.AUDIT));
        }

        @Override
        public ServiceMode convert(String value) {
            return choose(value);
        }
    }

    /** What a rule may do. genv's own flags say {@code false} and {@code true}. */
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
}
