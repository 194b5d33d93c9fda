package dev.genv.enforcer.e2e;

import java.io.IOException;
import java.util.Map;
import java.util.Set;

/**
 * Something that mallory does against bob, or to get away with something.
 *
 * @param name what it is, for the table
 * @param step does it, and starts her process
 * @param bob what becomes of bob's job
 * @param hers what becomes of her own process
 * @param told the rules that are said to be broken and the codes of the problems, all of which must be told
 * @param preparation what is done to the node before the service is started on it
 */
record Attack(String name, Step step, Bob bob, Hers hers, Set<String> told, Preparation preparation) {
    private Attack(String name, Step step, Bob bob, Hers hers, Set<String> told) {
        this(name, step, bob, hers, told, _ -> {});
    }

    /** Something done to a node. */
    interface Preparation {
        void run(Node node) throws IOException;
    }

    /** What she does. */
    interface Step {
        void run(Scene scene) throws Exception;
    }

    /** What becomes of bob's job. */
    enum Bob {
        UNTOUCHED("unaffected"),
        ENDED_AFTER_THE_GRACE("terminated after the state-change grace, reported with the state before"),
        ENDED_AFTER_THE_START("terminated after the state-change grace, which begins with the start");

        final String words;

        Bob(String words) {
            this.words = words;
        }
    }

    /** What becomes of her own process. */
    enum Hers {
        ENDED("terminated"),
        SPARED("not terminated while the attack lasts");

        final String words;

        Hers(String words) {
            this.words = words;
        }
    }

    static Attack inVain(String name, Step step, String... told) {
        return new Attack(name, step, Bob.UNTOUCHED, Hers.ENDED, Set.of(told));
    }

    /** It keeps the service from seeing enough to end anything. */
    static Attack blinding(String name, Step step, String... told) {
        return new Attack(name, step, Bob.UNTOUCHED, Hers.SPARED, Set.of(told));
    }

    /** genv's files being what they are, this can only be delayed and told. */
    static Attack delayed(String name, Step step, String... told) {
        return new Attack(name, step, Bob.ENDED_AFTER_THE_GRACE, Hers.ENDED, Set.of(told));
    }

    /** The same against a service with other settings. */
    Attack against(Map<String, String> otherSettings) {
        return prepared(node -> otherSettings.forEach(node::set));
    }

    /** The same on a node to which that is done first. */
    Attack prepared(Preparation other) {
        return new Attack(name, step, bob, hers, told, other);
    }

    /** A service that was started afterwards cannot know that anything was changed. */
    static Attack delayedByTheStart(String name, Step step, String... told) {
        return new Attack(name, step, Bob.ENDED_AFTER_THE_START, Hers.ENDED, Set.of(told));
    }

    @Override
    public String toString() {
        return name;
    }
}
