package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** The problems and missing parts of one observation, in the order in which they were found. */
public final class Findings {
    private final List<Problem> problems = new ArrayList<>();
    private final Set<SnapshotPart> missing = EnumSet.noneOf(SnapshotPart.class);

    public <T> T add(Found<T> found) {
        found.problems().forEach(this::add);
        missing.addAll(found.missing());
        return found.value();
    }

    public void add(Problem problem) {
        problems.add(problem);
    }

    public List<Problem> problems() {
        return List.copyOf(problems);
    }

    public Set<SnapshotPart> missing() {
        return Set.copyOf(missing);
    }
}
