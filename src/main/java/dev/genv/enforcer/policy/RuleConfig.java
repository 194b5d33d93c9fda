package dev.genv.enforcer.policy;

import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * How a rule is configured.
 *
 * @param limits {@link Limits#NONE} for a rule without a limit
 */
public record RuleConfig(RuleMode mode, Limits limits) {
    public static final RuleConfig OFF = of(RuleMode.OFF);

    /** Creates the configuration of a rule without limits. */
    public static RuleConfig of(RuleMode mode) {
        return new RuleConfig(mode, Limits.NONE);
    }

    /**
     * The limits of a rule that has a limit: numbers of devices, or amounts of memory in MiB.
     *
     * @param general the limit, of all users without their own; null for none
     * @param perUser limits of single users, which apply even without a general limit
     */
    public record Limits(@Nullable Integer general, Map<String, Integer> perUser) {
        public static final Limits NONE = new Limits(null, Map.of());

        public Limits {
            perUser = Map.copyOf(perUser);
            if ((general != null && general < 0) || perUser.values().stream().anyMatch(limit -> limit < 0)) {
                throw new IllegalArgumentException("a limit must not be negative");
            }
        }

        public OptionalInt limitFor(String user) {
            var limit = perUser.getOrDefault(user, general);
            return limit == null ? OptionalInt.empty() : OptionalInt.of(limit);
        }
    }
}
