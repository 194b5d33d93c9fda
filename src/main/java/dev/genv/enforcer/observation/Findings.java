package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** The problems and missing parts of one observation, in the order in which they were found. */
public final class Findings {
    private final List<Problem> problems = new ArrayList<>();
    private final Set<SnapshotPart> missing = EnumSet.noneOf(SnapshotPart.class);

    public void add(Problem problem) {
        problems.add(problem);
    }

    public void add(ProblemCode code, String detail) {
        add(new Problem(code, detail));
    }

    public void addAll(Collection<Problem> more) {
        problems.addAll(more);
    }

    public void miss(SnapshotPart part) {
        missing.add(part);
    }

    public boolean isMissing(SnapshotPart part) {
        return missing.contains(part);
    }

    public List<Problem> problems() {
        return List.copyOf(problems);
    }

    public Set<SnapshotPart> missing() {
        return Set.copyOf(missing);
    }
}
