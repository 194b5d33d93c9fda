package dev.genv.enforcer.remote.genv;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.format.json.UnreadableException;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.observation.Findings;
import dev.genv.enforcer.observation.IdentityFlapping;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.remote.Agent;
import dev.genv.enforcer.remote.AgentConfig;
import dev.genv.enforcer.remote.CommandResult;
import dev.genv.enforcer.remote.CommandRunner;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Observes a machine and acts on it through genv itself, with the protocol of {@code genv remote enforce} (genv 1.4.3). genv identifies a process by its pid alone, without start time, user and program. Every observation reports what is therefore unknown.
 */
public final class GenvAgent implements Agent {
    private static final Problem IDENTITIES_UNKNOWN = new Problem(
            ProblemCode.IDENTITIES_UNKNOWN,
            "genv's protocol identifies processes by pid alone: whether a pid was reused between the second observation"
                    + " and the signal is unknown, and so is the user of a process");
    private static final Problem PROTECTION_UNKNOWN = new Problem(
            ProblemCode.PROTECTION_UNKNOWN,
            "genv's protocol reports neither the program nor the user of a process: GENV_ENFORCER_PROTECTED_EXECUTABLES and"
                    + " GENV_ENFORCER_EXEMPT_USERS have no effect on this host");

    private final String name;
    private final List<Problem> lasting;
    private final GenvCommand command;
    private final Sightings sightings = new Sightings();
    private final IdentityFlapping identityFlapping = new IdentityFlapping();

    /**
     * For one host.
     *
     * @param name its name in reports
     * @param protects whether settings name exempt users or protected programs, which the protocol cannot identify
     */
    public GenvAgent(String name, AgentConfig config, boolean protects) {
        this.name = name;
        command = new GenvCommand(config);
        lasting = protects ? List.of(IDENTITIES_UNKNOWN, PROTECTION_UNKNOWN) : List.of(IDENTITIES_UNKNOWN);
    }

    /**
     * {@inheritDoc}
     *
     * <p>A process counts as exited after two observations without it on a GPU, because genv reports no more.
     */
    @Override
    public Observation observe(CommandRunner host, Set<ProcessId> verified)
            throws UnreachableException, InterruptedException {
        var seen = snapshot(host);
        var findings = new Findings();
        lasting.forEach(findings::add);
        var state = findings.add(seen.state());
        sightings.see(seen.processes().stream().map(GpuProcess::pid).toList());
        var processes = seen.processes().stream()
                .map(process -> findings.add(state.resolveMembership(named(process))))
                .toList();
        var devices = findings.add(state.devices(seen.listedDevices(), findings.missing()));
        var snapshot = new Snapshot(
                name,
                processes,
                state.environments(),
                devices,
                seen.listedDevices(),
                findings.missing(),
                findings.problems());
        var ended = verified.stream().filter(sightings::isGone).collect(Collectors.toUnmodifiableSet());
        return new Observation(snapshot, "genv", "", null, sightings.looks(), ended, List.of(), null, null, null, null);
    }

    private GpuProcess named(GpuProcess process) {
        return new GpuProcess(
                sightings.idOf(process.pid()), process.uid(), process.command(), process.membership(), process.usage());
    }

    @Override
    public void execute(CommandRunner host, List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException {
        var now = snapshot(host);
        var state = now.state().value();
        var report = new GenvReport(
                now,
                now.processes().stream()
                        .map(process -> state.resolveMembership(process).value())
                        .toList(),
                identityFlapping);
        var refused = report.add(actions);
        refused.forEach(done);
        if (report.isEmpty()) {
            return;
        }
        var sent =
                actions.stream().filter(action -> !refused.containsKey(action)).toList();
        var answer = execute(host, report, sent, done);
        var failure = GenvFailure.of(answer);
        if (failure.isPresent()) {
            if (!failure.get().begun()) {
                throw failure.get().asException();
            }
            var result = Result.lost(failure.get().detail());
            sent.forEach(action -> done.accept(action, result));
            return;
        }
        tell(host, sent, new GenvWarnings(answer.errors()), done);
    }

    private CommandResult execute(
            CommandRunner host, GenvReport report, List<Action> sent, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException {
        try {
            return host.run(command.execute(report.line()));
        } catch (InterruptedException e) {
            var result = Result.lost("abandoned: the execution took too long");
            sent.forEach(action -> done.accept(action, result));
            throw e;
        }
    }

    /** Reports terminations first: their results are known, also if the connection is lost now. */
    private void tell(CommandRunner host, List<Action> sent, GenvWarnings warnings, BiConsumer<Action, Result> done)
            throws InterruptedException {
        var detachments = new ArrayList<Action.Detach>();
        for (var action : sent) {
            switch (action) {
                case Action.Terminate terminate ->
                    done.accept(terminate, ended(terminate.process().pid(), warnings));
                case Action.Detach detach -> detachments.add(detach);
            }
        }
        if (!detachments.isEmpty()) {
            detached(host, detachments, done);
        }
    }

    private static Result ended(int pid, GenvWarnings warnings) {
        if (warnings.isDenied(pid)) {
            return new Result(Outcome.DENIED, "genv needs root to terminate it");
        }
        return Result.of(warnings.isGone(pid) ? Outcome.ALREADY_GONE : Outcome.SIGNALLED);
    }

    /** Checks detachments by another observation, because genv reports none; by the exit code if that observation fails. */
    private void detached(CommandRunner host, List<Action.Detach> detachments, BiConsumer<Action, Result> done)
            throws InterruptedException {
        @Nullable GenvSnapshot after = null;
        try {
            after = snapshot(host);
        } catch (UnreachableException _) {
            // The next cycle's observation reports the reason; genv writes the file before it exits with 0.
        } finally {
            for (var detach : detachments) {
                done.accept(detach, detached(detach, after));
            }
        }
    }

    private static Result detached(Action.Detach detach, @Nullable GenvSnapshot after) {
        if (after == null) {
            return new Result(Outcome.DETACHED, "according to genv; the host could not be observed again");
        }
        return isAttached(detach, after)
                ? Result.failed("genv reports success, but it is still attached")
                : Result.of(Outcome.DETACHED);
    }

    private static boolean isAttached(Action.Detach detach, GenvSnapshot now) {
        return now.attachments(detach.environment().eid(), detach.device()).stream()
                .anyMatch(attachment ->
                        Objects.equals(attachment.time(), detach.attachment().time()));
    }

    private GenvSnapshot snapshot(CommandRunner host) throws UnreachableException, InterruptedException {
        var answer = host.run(command.snapshot());
        var failure = GenvFailure.of(answer);
        if (failure.isPresent()) {
            throw failure.get().asException();
        }
        try {
            return GenvSnapshot.of(answer);
        } catch (UnreadableException e) {
            throw new UnreachableException(
                    ProblemCode.ANSWER_UNREADABLE,
                    "genv's answer %s%s".formatted(e.getMessage(), beginning(answer.output())),
                    e);
        }
    }

    /** The beginning of an invalid answer, for the message. */
    private static String beginning(String output) {
        var text = output.strip();
        return text.isEmpty()
                ? ""
                : "; it begins with " + SafeText.quote(text.substring(0, Math.min(60, text.length())));
    }
}
