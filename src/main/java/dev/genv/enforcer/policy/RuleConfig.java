package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Accounts.Match;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.policy.PolicyValues.Kind;
import dev.genv.enforcer.policy.PolicyValues.PolicyKey;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
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
     * @param general the limit, of all users without another one; null for none
     * @param perGroup limits of the users of groups, of which the largest counts. They apply even without a general limit
     * @param perUser limits of single users, instead of both
     * @param exceptions limits of users and groups that apply before all others; null for none
     */
    public record Limits(
            @Nullable Integer general,
            Map<String, Integer> perGroup,
            Map<String, Integer> perUser,
            @Nullable Limits exceptions) {
        public static final Limits NONE = new Limits(null, Map.of());

        public Limits {
            perGroup = Map.copyOf(perGroup);
            perUser = Map.copyOf(perUser);
            if ((general != null && general < 0)
                    || Stream.concat(perGroup.values().stream(), perUser.values().stream())
                            .anyMatch(limit -> limit < 0)) {
                throw new IllegalArgumentException("a limit must not be negative");
            }
        }

        /** Creates limits without exceptions. */
        public Limits(@Nullable Integer general, Map<String, Integer> perGroup, Map<String, Integer> perUser) {
            this(general, perGroup, perUser, null);
        }

        /** Returns these limits with exceptions. */
        public Limits with(Limits others) {
            return others.equals(NONE) ? this : new Limits(general, perGroup, perUser, others);
        }

        /** Creates limits without those of groups. */
        public Limits(@Nullable Integer general, Map<String, Integer> perUser) {
            this(general, Map.of(), perUser);
        }

        /**
         * Returns the limit of a user; the largest of several.
         *
         * @param user compares a user who has an own limit with this user
         * @param group whether this user is in a group that has a limit
         */
        public UserLimit limitFor(Function<String, Match> user, Function<String, Match> group) {
            if (exceptions != null && !(exceptions.limitFor(user, group) instanceof UserLimit.None)) {
                return exceptions.limitFor(user, group);
            }
            var own = largest(perUser, user, Match.YES);
            var ofGroups = largest(perGroup, group, Match.YES);
            var perhaps = largest(own == null ? perGroup : Map.of(), group, Match.UNKNOWN);
            if ((own == null && largest(perUser, user, Match.UNKNOWN) != null)
                    || (perhaps != null && (ofGroups == null || perhaps > ofGroups))) {
                return new UserLimit.Unknown();
            }
            var limit = own != null ? own : ofGroups != null ? ofGroups : general;
            return limit == null ? new UserLimit.None() : new UserLimit.Known(limit);
        }

        private static @Nullable Integer largest(
                Map<String, Integer> limits, Function<String, Match> match, Match wanted) {
            return limits.entrySet().stream()
                    .filter(limit -> match.apply(limit.getKey()) == wanted)
                    .map(Map.Entry::getValue)
                    .max(Comparator.naturalOrder())
                    .orElse(null);
        }

        /** Returns the key, without a rule, of the known limit of a user. */
        public PolicyKey keyFor(Function<String, Match> user, Function<String, Match> group) {
            return exceptions != null && exceptions.limitFor(user, group) instanceof UserLimit.Known
                    ? exceptions.keyFor(Kind.USER_EXCEPTION, Kind.GROUP_EXCEPTION, user, group)
                    : keyFor(Kind.USER, Kind.GROUP, user, group);
        }

        private PolicyKey keyFor(
                Kind ofUser, Kind ofGroup, Function<String, Match> user, Function<String, Match> group) {
            return largest(perUser, user)
                    .map(name -> new PolicyKey(ofUser, "", name))
                    .or(() -> largest(perGroup, group).map(name -> new PolicyKey(ofGroup, "", name)))
                    .orElseGet(() -> new PolicyKey(Kind.DEFAULT, "", ""));
        }

        private static Optional<String> largest(Map<String, Integer> limits, Function<String, Match> match) {
            return limits.entrySet().stream()
                    .filter(limit -> match.apply(limit.getKey()) == Match.YES)
                    .max(Map.Entry.comparingByValue())
                    .map(Map.Entry::getKey);
        }

        /** Returns the groups that have limits. */
        Set<String> groups() {
            var all = new HashSet<>(perGroup.keySet());
            all.addAll(exceptions == null ? Set.of() : exceptions.groups());
            return all;
        }

        /** Whether a user with so much may exceed an unknown limit. */
        boolean mayExceed(long held) {
            return Stream.of(Stream.ofNullable(general), perGroup.values().stream(), perUser.values().stream())
                            .flatMap(Function.identity())
                            .anyMatch(limit -> held > limit)
                    || (exceptions != null && exceptions.mayExceed(held));
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

            /** The user may be one who has an own limit, and whose account is not found, or may be in a group that has another limit. */
            record Unknown() implements UserLimit {}

            /** Returns the problem of a user whose limit is unknown. */
            static HostProblem problem(String host, RuleDefinition rule, String user) {
                return new HostProblem(
                        host,
                        ProblemCode.QUOTA_UNDECIDED,
                        "It is unknown which limit user %s has: %s does nothing to this user until the account and its groups are found"
                                .formatted(SafeText.escape(user), rule.name()));
            }

            /** Returns the limit; null if there is none, or if it is unknown. */
            default @Nullable Integer orNull() {
                return this instanceof Known(var limit) ? Integer.valueOf(limit) : null;
            }
        }
    }
}
