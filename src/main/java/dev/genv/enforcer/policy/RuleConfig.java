package dev.genv.enforcer.policy;

import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.time.Duration;
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
     * From when on something counts as idle.
     *
     * @param after for how long it was observed to be idle
     * @param utilization the highest utilization of an idle device, in percent
     */
    public record IdleLimits(Duration after, int utilization) {
        public static final IdleLimits DEFAULT = new IdleLimits(Duration.ofHours(4), 1);

        /** Returns the time in the unit that people would choose, such as {@code 4h}. */
        String text() {
            var seconds = after.toSeconds();
            return seconds % 3600 == 0
                    ? seconds / 3600 + " h"
                    : seconds % 60 == 0 ? seconds / 60 + " min" : seconds + " s";
        }
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
