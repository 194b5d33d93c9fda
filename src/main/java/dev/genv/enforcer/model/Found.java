package dev.genv.enforcer.model;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * A value, and what was found out with it.
 *
 * @param problems what could not be read or was not expected
 * @param missing the parts of a snapshot that could not be observed
 */
public record Found<T>(T value, List<Problem> problems, Set<SnapshotPart> missing) {
    public Found {
        problems = List.copyOf(problems);
        missing = Set.copyOf(missing);
    }

    public static <T> Found<T> of(T value) {
        return new Found<>(value, List.of(), Set.of());
    }

    public static <T> Found<T> of(T value, List<Problem> problems) {
        return new Found<>(value, problems, Set.of());
    }

    public Found<T> with(Problem problem) {
        var all = new ArrayList<>(problems);
        all.add(problem);
        return new Found<>(value, all, missing);
    }

    public Found<T> without(SnapshotPart part) {
        var all = EnumSet.of(part);
        all.addAll(missing);
        return new Found<>(value, problems, all);
    }
}
