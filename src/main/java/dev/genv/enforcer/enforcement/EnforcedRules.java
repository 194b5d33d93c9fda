package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.saved.SavedKind;
import dev.genv.enforcer.enforcement.saved.SavedState;
import dev.genv.enforcer.policy.definition.RuleMode;
import dev.genv.enforcer.policy.rule.Rules;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The rules that a run of the service enforces. */
final class EnforcedRules {
    private static final SavedKind<Key, Saved> RULES = new SavedKind<>("enforced_rule", Key.class, Saved.class);

    private final Map<Key, Saved> rules = new LinkedHashMap<>();

    /** Identifies a rule by its name. */
    record Key(String rule) {}

    /**
     * What is saved of a rule that is enforced.
     *
     * @param signals whether the service also terminated processes, not only detached devices
     */
    record Saved(boolean signals) {}

    EnforcedRules(EnforcerConfig config) {
        for (var rule : Rules.definitions()) {
            if (config.effectiveMode(rule) == RuleMode.ENFORCE) {
                rules.put(new Key(rule.name()), new Saved(config.signals()));
            }
        }
    }

    /** The kinds of entries that are saved. */
    static List<SavedKind<?, ?>> savedKinds() {
        return List.of(RULES);
    }

    SavedState save() {
        return SavedState.EMPTY.with(RULES, rules);
    }

    /** Returns the names of the rules that an earlier run did not enforce, or whose processes it did not terminate. */
    List<String> notEnforcedIn(SavedState earlier) {
        var before = earlier.get(RULES);
        return rules.entrySet().stream()
                .filter(rule -> {
                    var was = before.get(rule.getKey());
                    return was == null || (rule.getValue().signals && !was.signals);
                })
                .map(rule -> rule.getKey().rule)
                .toList();
    }
}
