package dev.genv.enforcer.e2e.attack;

import dev.genv.enforcer.e2e.Node;
import java.util.Set;

/**
 * An action of the attacker against bob, or to break a rule without being terminated. Its name is its description in the table.
 * Unless it says otherwise, bob's job is unaffected and the attacker's process is terminated.
 */
final class Attack {
    final String name;
    boolean terminatesVictim;
    boolean protectsAttacker;
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
        void run(Node node) throws Exception;
    }

    /** What the attacker does. */
    interface Step {
        void run(TwoUserNode node) throws Exception;
    }

    static Attack named(String name) {
        return new Attack(name);
    }

    /** It prevents observations that are complete enough to terminate a process. */
    Attack preventingTermination() {
        protectsAttacker = true;
        return this;
    }

    /** Every user can write genv's files, so the service can only delay the effect and report it. */
    Attack delayedByGrace() {
        terminatesVictim = true;
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
