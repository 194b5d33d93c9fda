package dev.genv.enforcer.enforcement.violation;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Predicate;

/** The active violations as they are saved. A violation whose amounts of memory alone changed keeps its saved form. */
final class SavedViolations {
    private Map<SavedViolation.Key, SavedViolation> last = Map.of();

    /**
     * Saves violations.
     *
     * @param isPresent whether the last cycle found a violation
     * @param cycles the number of cycles that the registry recorded
     */
    Map<SavedViolation.Key, SavedViolation> save(
            Collection<ViolationRecord> active, Predicate<ViolationRecord> isPresent, int cycles) {
        var now = new HashMap<SavedViolation.Key, SavedViolation>();
        for (var entry : active) {
            var key = new SavedViolation.Key(entry.id());
            var saved = SavedViolation.of(entry, isPresent.test(entry), cycles);
            var before = last.get(key);
            now.put(key, before != null && before.isEquivalent(saved) ? before : saved);
        }
        last = now;
        return now;
    }
}
