package dev.genv.enforcer.observation.table;

import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One row of the fact table: what is unusual about a machine, and what the node must observe. */
final class FactRow {
    final String name;
    final List<Step> steps = new ArrayList<>();
    final List<String> problems = new ArrayList<>();
    final Set<SnapshotPart> missing = EnumSet.noneOf(SnapshotPart.class);
    Consumer<Snapshot> check = _ -> {};

    @Nullable
    Difference difference;

    /** What is observed through the agent instead, and why. */
    record Difference(String why, Consumer<Snapshot> check) {}

    /** A change of the machine. */
    interface Step {
        void change(DescribedMachine machine) throws Exception;
    }

    private FactRow(String name) {
        this.name = name;
    }

    /** A row about the machine after this change. */
    static FactRow row(String name, Step step) {
        var row = new FactRow(name);
        row.steps.add(step);
        return row;
    }

    /** Another change after the first observation; the second observation counts. */
    FactRow then(Step step) {
        steps.add(step);
        return this;
    }

    FactRow thenUnchanged(int observations) {
        for (var i = 0; i < observations; i++) {
            then(_ -> {});
        }
        return this;
    }

    /** Expects this problem, code and text. {@code STATE} stands for the state directory. */
    FactRow problem(String text) {
        problems.add(text);
        return this;
    }

    FactRow missing(SnapshotPart... parts) {
        missing.addAll(List.of(parts));
        return this;
    }

    FactRow check(Consumer<Snapshot> expectation) {
        check = expectation;
        return this;
    }

    /** Expects another observation through the agent, for the reason that is given in one sentence. */
    FactRow agentDiffers(String why, Consumer<Snapshot> expectation) {
        difference = new Difference(why, expectation);
        return this;
    }

    @Override
    public String toString() {
        return name;
    }
}
