package dev.genv.enforcer.journal.line;

import dev.genv.enforcer.enforcement.saved.SavedKind;
import dev.genv.enforcer.enforcement.saved.SavedState;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The lines by which one saved state becomes another one. */
public final class StateLines {
    private StateLines() {}

    /**
     * Returns the lines of all entries that differ.
     *
     * @param before {@link SavedState#EMPTY} for all entries
     */
    public static List<byte[]> between(SavedState before, SavedState now) {
        var lines = new ArrayList<byte[]>();
        now.all().forEach((kind, entries) -> {
            var earlier = before.all().getOrDefault(kind, Map.of());
            entries.forEach((key, value) -> {
                if (!value.equals(earlier.get(key))) {
                    lines.add(line(kind, key, value));
                }
            });
            earlier.keySet().stream()
                    .filter(key -> !entries.containsKey(key))
                    .forEach(key -> lines.add(line(kind, key, null)));
        });
        return lines;
    }

    private static byte[] line(SavedKind<?, ?> kind, Record key, @Nullable Record value) {
        return JournalLine.encode(
                LineTypes.STATE,
                RecordJson.write(new LineTypes.StateEntry(
                        kind.name(), RecordJson.tree(key), value == null ? null : RecordJson.tree(value))));
    }
}
