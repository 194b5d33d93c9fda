package dev.genv.enforcer.observation.genv;

import dev.genv.enforcer.facts.host.GenvFacts;
import dev.genv.enforcer.format.GenvSnapshot;
import dev.genv.enforcer.format.json.UnreadableException;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.model.user.Accounts;
import dev.genv.enforcer.observation.Findings;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.observation.Observation.MachineStatus;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.observation.membership.Listings;
import dev.genv.enforcer.observation.state.LiveState;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Interprets the answers of genv itself on one machine. genv identifies a process by its pid alone, without start time, user and
 * program. Every observation reports what is therefore unknown. One thread at a time uses it.
 */
public final class GenvObserver {
    private static final Problem IDENTITIES_UNKNOWN = new Problem(
            ProblemCode.IDENTITIES_UNKNOWN,
            "genv's protocol identifies processes by pid alone: whether a pid was reused between the second observation"
                    + " and the signal is unknown, and so is the user of a process");
    private static final Problem PROTECTION_UNKNOWN = new Problem(
            ProblemCode.PROTECTION_UNKNOWN,
            "genv's protocol reports neither the program nor the user of a process:"
                + " GENV_ENFORCER_PROTECTED_EXECUTABLES and GENV_ENFORCER_EXEMPT_USERS have no effect on this host");

    private final ObserverSettings settings;
    private final Sightings sightings = new Sightings();

    public GenvObserver(ObserverSettings settings) {
        this.settings = settings;
    }

    /**
     * Interprets facts. A process counts as exited after two observations without it on a GPU, because genv reports no more.
     *
     * @param verified the processes whose exit the service waits for
     * @throws UnreadableException if they are not an answer of genv
     */
    public Observation observe(GenvFacts facts, Set<ProcessId> verified) throws UnreadableException {
        var seen = GenvSnapshot.parse(facts.output(), facts.errors());
        var findings = new Findings();
        findings.add(IDENTITIES_UNKNOWN);
        if (!settings.protectedExecutables().isEmpty()
                || !settings.exemptUsers().isEmpty()) {
            findings.add(PROTECTION_UNKNOWN);
        }
        var listed = findings.add(GenvProcesses.of(seen));
        // genv prints only active environments, and nothing about the processes that they list.
        var state = findings.add(LiveState.ofActive(seen.envs(), seen.devices()));
        sightings.see(listed.stream().map(GpuProcess::pid).toList());
        var processes = listed.stream()
                .map(process -> findings.add(state.resolveMembership(identified(process))))
                .toList();
        var devices = findings.add(state.devices(seen.listedDevices(), findings.missing()));
        var snapshot = new Snapshot(
                settings.host(),
                processes,
                state.environments(),
                devices,
                seen.listedDevices(),
                findings.missing(),
                findings.problems());
        var ended = verified.stream().filter(sightings::isGone).collect(Collectors.toUnmodifiableSet());
        return new Observation(
                snapshot,
                null,
                sightings.observations(),
                ended,
                List.of(),
                null,
                null,
                null,
                Listings.NONE,
                Accounts.NONE,
                new MachineStatus(true, List.of()));
    }

    private GpuProcess identified(GpuProcess process) {
        return new GpuProcess(
                sightings.idOf(process.pid()), process.uid(), process.command(), process.membership(), process.usage());
    }
}
