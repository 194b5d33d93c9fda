package dev.genv.enforcer.e2e.attack;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.TwoUserNode;
import java.io.IOException;
import java.util.Map;
import java.util.Set;

/**
 * Something that the attacker does against bob, or to get away with something.
 *
 * @param name what it is, for the table
 * @param step does it, and starts her process
 * @param victimOutcome what becomes of bob's job
 * @param attackerOutcome what becomes of her own process
 * @param reported the rules that are said to be broken and the codes of the problems, all of which must be told
 * @param preparation what is done to the node before the service is started on it
 */
public record Attack(
        String name,
        Step step,
        VictimOutcome victimOutcome,
        AttackerOutcome attackerOutcome,
        Set<String> reported,
        Preparation preparation) {
    private Attack(String name, Step step, VictimOutcome honestUser, AttackerOutcome hers, Set<String> reported) {
        this(name, step, honestUser, hers, reported, _ -> {});
    }

    /** Something done to a node. */
    interface Preparation {
        void run(Node node) throws IOException;
    }

    /** What she does. */
    public interface Step {
        void run(TwoUserNode twoUserNode) throws Exception;
    }

    /** What becomes of bob's job. */
    public enum VictimOutcome {
        UNAFFECTED("unaffected"),
        TERMINATED_AFTER_GRACE("terminated after the state-change grace, reported with the state before"),
        TERMINATED_AFTER_START_GRACE("terminated after the state-change grace, which begins with the start");

        final String description;

        VictimOutcome(String words) {
            this.description = words;
        }
    }

    /** What becomes of her own process. */
    public enum AttackerOutcome {
        TERMINATED("terminated"),
        NOT_TERMINATED("not terminated while the attack lasts");

        final String description;

        AttackerOutcome(String words) {
            this.description = words;
        }
    }

    static Attack withoutEffect(String name, Step step, String... reported) {
        return new Attack(name, step, VictimOutcome.UNAFFECTED, AttackerOutcome.TERMINATED, Set.of(reported));
    }

    /** It keeps the service from seeing enough to end anything. */
    static Attack preventingTermination(String name, Step step, String... reported) {
        return new Attack(name, step, VictimOutcome.UNAFFECTED, AttackerOutcome.NOT_TERMINATED, Set.of(reported));
    }

    /** genv's files being what they are, this can only be delayed and told. */
    static Attack delayedByGrace(String name, Step step, String... reported) {
        return new Attack(
                name, step, VictimOutcome.TERMINATED_AFTER_GRACE, AttackerOutcome.TERMINATED, Set.of(reported));
    }

    /** The same against a service with other settings. */
    Attack withSettings(Map<String, String> otherSettings) {
        return withPreparation(node -> otherSettings.forEach(node::set));
    }

    /** The same on a node to which that is done first. */
    Attack withPreparation(Preparation other) {
        return new Attack(name, step, victimOutcome, attackerOutcome, reported, other);
    }

    /** A service that was started afterwards cannot know that anything was changed. */
    static Attack delayedByStartGrace(String name, Step step, String... reported) {
        return new Attack(
                name, step, VictimOutcome.TERMINATED_AFTER_START_GRACE, AttackerOutcome.TERMINATED, Set.of(reported));
    }

    @Override
    public String toString() {
        return name;
    }
}
