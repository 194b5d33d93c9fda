package dev.genv.enforcer.testsupport.builder;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRecord.ActionNote;
import dev.genv.enforcer.enforcement.report.ViolationRecord.NextAction;
import dev.genv.enforcer.enforcement.report.ViolationRecord.WaitReason;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Builds records of violations: by default an active one of {@code non-env-processes} on {@code gpu-1} in enforce mode. */
public final class ViolationBuilder {
    private final List<ActionNote> actions = new ArrayList<>();
    private final List<NextAction> next = new ArrayList<>();
    private final List<GpuProcess> processes;
    private RuleDefinition rule = KnownRules.NON_ENV_PROCESSES;
    private Set<String> hosts = Set.of("gpu-1");
    private String id = "id-1";
    private String environment;
    private String message = "Process 812 is not running in a GPU environment";
    private RuleMode mode = RuleMode.ENFORCE;
    private boolean active = true;

    private ViolationBuilder(List<GpuProcess> processes) {
        this.processes = processes;
    }

    public static ViolationBuilder violationOf(GpuProcessBuilder... processes) {
        return new ViolationBuilder(
                List.of(processes).stream().map(GpuProcessBuilder::build).toList());
    }

    public ViolationBuilder id(String text) {
        id = text;
        return this;
    }

    public ViolationBuilder rule(RuleDefinition definition) {
        rule = definition;
        return this;
    }

    public ViolationBuilder environment(String eid) {
        environment = eid;
        return this;
    }

    public ViolationBuilder hosts(String... names) {
        hosts = Set.of(names);
        return this;
    }

    public ViolationBuilder message(String text) {
        message = text;
        return this;
    }

    public ViolationBuilder audited() {
        mode = RuleMode.AUDIT;
        return this;
    }

    public ViolationBuilder resolved() {
        active = false;
        return this;
    }

    /** Adds an action on a process. */
    public ViolationBuilder action(int pid, Outcome outcome) {
        return action(termination(pid, outcome));
    }

    public ViolationBuilder action(ActionNote note) {
        actions.add(note);
        return this;
    }

    /** Adds a termination that follows after this time. */
    public ViolationBuilder next(int pid, Instant notBefore) {
        next.add(new NextAction(
                new ActionNote.Target("here", pid, null, null), Optional.of(Signal.TERM), notBefore, WaitReason.GRACE));
        return this;
    }

    /** Returns a note of an action on a process, with SIGTERM if one was sent. */
    public static ActionNote termination(int pid, Outcome outcome) {
        return new ActionNote(
                new ActionNote.Target("here", pid, null, null),
                outcome.isSkipped() ? Optional.empty() : Optional.of(Signal.TERM),
                FakeTime.START,
                outcome,
                outcome == Outcome.SKIPPED_GRACE ? "it has not yet lasted 60 s" : null);
    }

    public ViolationRecord build() {
        var host = hosts.size() == 1 ? hosts.iterator().next() : null;
        return new ViolationRecord(
                id,
                new Violation(rule, host, hosts, "it", message, null, environment, List.of(0), processes),
                mode,
                active,
                FakeTime.START,
                FakeTime.START,
                1,
                List.copyOf(actions),
                new ViolationRecord.Recency(1, FakeTime.START),
                List.copyOf(next));
    }
}
