package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Accounts.Match;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.time.Duration;
import java.util.Map;
import java.util.function.Function;
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

        /**
         * Returns the limit of a user; the largest of several.
         *
         * @param match compares a user who has an own limit with this user
         */
        public UserLimit limitFor(Function<String, Match> match) {
            Integer own = null;
            var mayHaveOwn = false;
            for (var limit : perUser.entrySet()) {
                switch (match.apply(limit.getKey())) {
                    case YES -> own = own == null ? limit.getValue() : Integer.valueOf(Math.max(own, limit.getValue()));
                    case UNKNOWN -> mayHaveOwn = true;
                    case NO -> {}
                }
            }
            var limit = own == null ? general : own;
            return own == null && mayHaveOwn
                    ? new UserLimit.Unknown()
                    : limit == null ? new UserLimit.None() : new UserLimit.Known(limit);
        }

        /**
         * Compares a user who has an own limit with a user who is known by a recorded name, by an account, or else by the uid. A name that is
         * another one is another user, even if the account of the first one is not found.
         */
        public static Match match(String limited, String user, @Nullable Long uid, Accounts accounts) {
            var hasName = !user.equals(String.valueOf(uid));
            var match = hasName && limited.equals(user) ? Match.YES : accounts.match(limited, uid);
            return hasName && match == Match.UNKNOWN && !Accounts.haveSameName(limited, user) ? Match.NO : match;
        }

        /** The limit of a user. */
        public sealed interface UserLimit {
            record Known(int limit) implements UserLimit {}

            record None() implements UserLimit {}

            /** The user may be one who has an own limit, and whose account is not found. */
            record Unknown() implements UserLimit {}

            /** Returns the limit; null if there is none, or if it is unknown. */
            default @Nullable Integer orNull() {
                return this instanceof Known(var limit) ? Integer.valueOf(limit) : null;
            }
        }
    }
}
