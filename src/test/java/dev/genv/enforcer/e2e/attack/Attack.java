package dev.genv.enforcer.e2e.attack;

import dev.genv.enforcer.e2e.Node;
import java.io.IOException;
import java.util.Set;

/**
 * An action of the attacker against bob, or to break a rule without being terminated. Its name is its description in the table.
 * Unless it says otherwise, bob's job is unaffected and the attacker's process is terminated.
 */
final class Attack {
    final String name;
    VictimOutcome victimOutcome = VictimOutcome.UNAFFECTED;
    AttackerOutcome attackerOutcome = AttackerOutcome.TERMINATED;
    /** The rules and the codes of the problems that the service must report. */
    Set<String> reported = Set.of();
    /** Changes the node before the service is started on it. */
    Preparation preparation = _ -> {};
    /** Performs the attack, and starts the attacker's process. */
    Step step = _ -> {};

    private Attack(String name) {
        this.name = name;
    }

    /** A change of a node before the service is started. */
    interface Preparation {
        void run(Node node) throws IOException;
    }

    /** What the attacker does. */
    interface Step {
        void run(TwoUserNode node) throws Exception;
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

    static Attack named(String name) {
        return new Attack(name);
    }

    /** It prevents observations that are complete enough to terminate a process. */
    Attack preventingTermination() {
        attackerOutcome = AttackerOutcome.NOT_TERMINATED;
        return this;
    }

    /** Every user can write genv's files, so the service can only delay the effect and report it. */
    Attack delayedByGrace() {
        victimOutcome = VictimOutcome.TERMINATED_AFTER_GRACE;
        return this;
    }

    Attack reporting(String... codes) {
        reported = Set.of(codes);
        return this;
    }

    /** Against a service with this setting, named without its prefix. */
    Attack with(String setting, String value) {
        return prepared(node -> node.set(setting, value));
    }

    /** On a node that is prepared first. */
    Attack prepared(Preparation first) {
        var former = preparation;
        preparation = node -> {
            former.run(node);
            first.run(node);
        };
        return this;
    }

    Attack by(Step action) {
        step = action;
        return this;
    }

    @Override
    public String toString() {
        return name;
    }
}
