package dev.genv.enforcer.e2e.attack;

import dev.genv.enforcer.e2e.Node;
import java.io.IOException;
import java.util.Map;
import java.util.Set;

/**
 * An action of the attacker against bob, or to break a rule without being terminated.
 *
 * @param name its description in the table
 * @param step performs it, and starts the attacker's process
 * @param victimOutcome what happens to bob's job
 * @param attackerOutcome what happens to the attacker's process
 * @param reported the rules and the codes of the problems that the service must report
 * @param preparation changes the node before the service is started on it
 */
record Attack(
        String name,
        Step step,
        VictimOutcome victimOutcome,
        AttackerOutcome attackerOutcome,
        Set<String> reported,
        Preparation preparation) {
    private Attack(String name, Step step, VictimOutcome victim, AttackerOutcome attacker, Set<String> reported) {
        this(name, step, victim, attacker, reported, _ -> {});
    }

    /** A change of a node before the service is started. */
    interface Preparation {
        void run(Node node) throws IOException;
    }

    /** What the attacker does. */
    interface Step {
        void run(TwoUserNode twoUserNode) throws Exception;
    }

    /** What happens to bob's job. */
    enum VictimOutcome {
        UNAFFECTED("unaffected"),
        TERMINATED_AFTER_GRACE("terminated after the grace period, reported");

        final String description;

        VictimOutcome(String description) {
            this.description = description;
        }
    }

    /** What happens to the attacker's process. */
    enum AttackerOutcome {
        TERMINATED("terminated"),
        NOT_TERMINATED("not terminated while the attack lasts");

        final String description;

        AttackerOutcome(String description) {
            this.description = description;
        }
    }

    static Attack withoutEffect(String name, Step step, String... reported) {
        return new Attack(name, step, VictimOutcome.UNAFFECTED, AttackerOutcome.TERMINATED, Set.of(reported));
    }

    /** It prevents observations that are complete enough to terminate a process. */
    static Attack preventingTermination(String name, Step step, String... reported) {
        return new Attack(name, step, VictimOutcome.UNAFFECTED, AttackerOutcome.NOT_TERMINATED, Set.of(reported));
    }

    /** Every user can write genv's files, so the service can only delay the effect and report it. */
    static Attack delayedByGrace(String name, Step step, String... reported) {
        return new Attack(
                name, step, VictimOutcome.TERMINATED_AFTER_GRACE, AttackerOutcome.TERMINATED, Set.of(reported));
    }

    /** The same against a service with other settings. */
    Attack withSettings(Map<String, String> otherSettings) {
        return withPreparation(node -> otherSettings.forEach(node::set));
    }

    /** The same on a node that is prepared first. */
    Attack withPreparation(Preparation other) {
        return new Attack(name, step, victimOutcome, attackerOutcome, reported, other);
    }

    @Override
    public String toString() {
        return name;
    }
}
