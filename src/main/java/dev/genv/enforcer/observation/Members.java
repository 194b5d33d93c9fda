package dev.genv.enforcer.observation;

import dev.genv.enforcer.facts.host.HostFacts;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.device.DeviceUsage;
import dev.genv.enforcer.observation.AccountReader.HostAccounts;
import dev.genv.enforcer.observation.immunity.ImmunityRules;
import dev.genv.enforcer.observation.membership.Decision;
import dev.genv.enforcer.observation.membership.MembershipResolver;
import dev.genv.enforcer.observation.membership.ProgramEnviron;
import dev.genv.enforcer.observation.process.ObservedProcess;
import dev.genv.enforcer.observation.state.LiveState;
import dev.genv.enforcer.observation.workload.Workloads;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Decides in one observation to which environments processes belong, whether they are listed or hold GPUs without being listed. */
final class Members {
    private final RelatedFacts related;
    private final MembershipResolver.Session session;
    private final Workloads workloads;
    private final LiveState live;
    private final ImmunityRules immunity;
    private final HostAccounts accounts;
    private final Findings findings;
    private final Map<ProcessId, ProgramEnviron> environs = new HashMap<>();

    /** Begins the observation. What is found out about the memberships is added to the findings. */
    Members(
            RelatedFacts related,
            MembershipResolver memberships,
            Workloads workloads,
            LiveState live,
            ImmunityRules immunity,
            HostAccounts accounts,
            HostFacts facts,
            Findings findings) {
        this.related = related;
        this.workloads = workloads;
        this.live = live;
        this.immunity = immunity;
        this.accounts = accounts;
        this.findings = findings;
        session = memberships.begin(
                Observer.machine(facts.machine()),
                related.processes(),
                findings.missing().contains(SnapshotPart.ENVIRONMENTS) ? null : live.environments(),
                facts.machine().beforeState());
    }

    /** Returns a process with its membership. */
    GpuProcess resolve(ObservedProcess process, List<DeviceUsage> usage) {
        var decision =
                related.of(process).map(session::decide).orElseGet(() -> Decision.unavailable(process.environ()));
        environs.put(process.id(), process.environ());
        var workload = workloads.resolve(process.id(), process.workload());
        return findings.add(live.resolveMembership(new GpuProcess(
                process.id(),
                process.uid(),
                process.command(),
                decision.membership(),
                decision.by(),
                usage,
                immunity.immunity(process),
                workload,
                accounts.accountOf(process.uid(), workload))));
    }

    /** Returns the environs of the processes that were resolved. */
    Map<ProcessId, ProgramEnviron> environs() {
        return Map.copyOf(environs);
    }
}
