package dev.genv.enforcer.api;

import dev.genv.enforcer.enforcement.EnforcerConfig;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Rules;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.eclipse.microprofile.openapi.annotations.Operation;
import org.eclipse.microprofile.openapi.annotations.responses.APIResponse;
import org.jspecify.annotations.Nullable;

/** The running policy. */
@Path("/policy")
@Produces(MediaType.APPLICATION_JSON)
public class PolicyResource {
    private final EnforcerConfig config;

    PolicyResource(EnforcerConfig config) {
        this.config = config;
    }

    @GET
    @Operation(
            operationId = "getPolicy",
            summary = "The running policy: the mode of the service, and the mode and limits of each rule")
    @APIResponse(responseCode = "200", description = "The running policy.")
    public PolicyView show() {
        return PolicyView.of(config);
    }

    /**
     * The running policy.
     *
     * @param mode {@code enforce}, or {@code audit} if the service takes no action
     * @param terminateProcesses whether processes may be signalled at all
     * @param intervalSeconds the time from one cycle to the next
     * @param graceSeconds how long a violation is observed before the service acts
     * @param killAfterSeconds the time from SIGTERM to SIGKILL; null for never
     * @param rules all rules, in the order of their checks
     */
    public record PolicyView(
            String mode,
            boolean terminateProcesses,
            double intervalSeconds,
            double graceSeconds,
            @Nullable Double killAfterSeconds,
            List<Rule> rules) {

        /**
         * A rule.
         *
         * @param title what a violation is, in a few words
         * @param advice what a user can do about a violation, with commands in backquotes
         * @param mode {@code off}, {@code audit} or {@code enforce}, by its own setting
         * @param limited whether the rule has a limit
         * @param limit the limit of all users without their own: a number of devices, or memory in MiB; null for none
         * @param limitsOfUsers the limits of single users, in the same unit
         */
        public record Rule(
                String name,
                String title,
                String advice,
                String mode,
                boolean limited,
                @Nullable Integer limit,
                Map<String, Integer> limitsOfUsers) {
            private static Rule of(RuleDefinition rule, EnforcerConfig config) {
                var its = config.policy().configOf(rule);
                return new Rule(
                        rule.name(),
                        rule.title(),
                        rule.advice(),
                        its.mode().name().toLowerCase(Locale.ROOT),
                        rule.hasLimit(),
                        its.limits().general(),
                        new TreeMap<>(its.limits().perUser()));
            }
        }

        public static PolicyView of(EnforcerConfig config) {
            var limits = config.safetyLimits();
            var killAfter = limits.killAfter();
            return new PolicyView(
                    config.mode().name().toLowerCase(Locale.ROOT),
                    config.signals(),
                    seconds(config.interval()),
                    seconds(limits.grace()),
                    killAfter == null ? null : seconds(killAfter),
                    Rules.definitions().stream()
                            .map(rule -> Rule.of(rule, config))
                            .toList());
        }

        private static double seconds(Duration duration) {
            return duration.toMillis() / 1000.0;
        }
    }
}
