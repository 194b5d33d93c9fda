package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.record.SavedState;
import dev.genv.enforcer.enforcement.record.SavedState.SavedKind;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The lines by which one saved state becomes another one. */
public final class StateLines {
    private StateLines() {}

    /**
     * Returns the lines of all entries that differ. Each is encoded when it is needed, because all of them may be large.
     *
     * @param before {@link SavedState#EMPTY} for all entries
     */
    public static Stream<byte[]> between(SavedState before, SavedState now) {
        return now.all().entrySet().stream()
                .flatMap(ofKind -> between(
                        ofKind.getKey(), before.all().getOrDefault(ofKind.getKey(), Map.of()), ofKind.getValue()));
    }

    private static Stream<byte[]> between(
            SavedKind<?, ?> kind,
            Map<? extends Record, ? extends Record> before,
            Map<? extends Record, ? extends Record> now) {
        return Stream.concat(
                now.entrySet().stream()
                        .filter(entry -> !entry.getValue().equals(before.get(entry.getKey())))
                        .map(entry -> line(kind, entry.getKey(), entry.getValue())),
                before.keySet().stream().filter(key -> !now.containsKey(key)).map(key -> line(kind, key, null)));
    }

    private static byte[] line(SavedKind<?, ?> kind, Record key, @Nullable Record value) {
        return JournalLine.encode(
                LineTypes.STATE,
                RecordJson.write(new LineTypes.StateEntry(
                        kind.name(), RecordJson.tree(key), value == null ? null : RecordJson.tree(value))));
    }
}
