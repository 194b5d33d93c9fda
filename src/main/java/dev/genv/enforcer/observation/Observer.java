package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.EnforcerFacts;
import dev.genv.enforcer.host.HostFacts.MachineFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.HostFacts.VerifiedProcess;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.observation.GpuListing.DeviceOrder;
import dev.genv.enforcer.observation.GpuListing.DeviceStatuses;
import dev.genv.enforcer.observation.GpuListing.GpuAccess;
import dev.genv.enforcer.observation.ImmunityRules.ConfiguredUsers;
import dev.genv.enforcer.observation.ImmunityRules.ProgramHistory;
import dev.genv.enforcer.observation.ListedProcesses.UnreadProcesses;
import dev.genv.enforcer.observation.Members.AccountReader;
import dev.genv.enforcer.observation.Members.AccountReader.HostAccounts;
import dev.genv.enforcer.observation.Members.RelatedFacts;
import dev.genv.enforcer.observation.Observation.MachineStatus;
import dev.genv.enforcer.observation.ObserverSettings.Advice;
import dev.genv.enforcer.observation.ObserverSettings.Privileges;
import dev.genv.enforcer.observation.ObserverSettings.Privileges.MissingPrivilege;
import dev.genv.enforcer.observation.RelatedProcesses.ProgramEnviron;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Interprets the facts of one machine. It keeps only what must survive from one observation to the next: the order of the devices, the
 * identity of the state directory, the earlier files of protected programs, and what was parsed from accounts and state. One thread at
 * a time uses it.
 */
public final class Observer {
    private static final Pattern DRIVER = Pattern.compile("NVRM version:.*?\\s([0-9]+(?:\\.[0-9]+)+)\\s");
    private static final Pattern MACHINE = Pattern.compile("[0-9a-f]{32}");
    private static final ProgramEnviron NOT_OBSERVED =
            ProgramEnviron.unavailable(new Membership.Unknown("it was not observed"));
    private static final Pattern BOOT = Pattern.compile("[0-9a-f-]{36}");

    private final ObserverSettings settings;
    private final DeviceOrder order = new DeviceOrder();
    private final GpuAccess gpuAccess = new GpuAccess();
    private final ListedProcesses listedProcesses = new ListedProcesses();
    private final UnreadProcesses unread = new UnreadProcesses();
    private final AccountReader accountReader = new AccountReader();
    private final StateParser stateParser;
    private final UnlistedProcesses unlisted;
    private HostAccounts accounts = new HostAccounts(Accounts.NONE, SubordinateUids.NONE);
    private final MembershipResolver memberships;
    private final Workloads workloads = new Workloads();
    private final ProgramHistory programHistory = new ProgramHistory();
    private ImmunityRules immunity = new ImmunityRules(0, Set.of(), List.of());
    private Map<ProcessId, ProgramEnviron> environs = Map.of();

    public Observer(ObserverSettings settings) {
        this.settings = settings;
        stateParser = new StateParser(settings.stateDirectory());
        memberships = new MembershipResolver(settings.overwrittenIsOutside());
        unlisted = new UnlistedProcesses(settings.unlistedMemory());
    }

    /**
     * Interprets facts. Parts that could not be read are problems and missing parts of the result.
     *
     * @param verified the processes whose exit the service waits for
     * @throws IllegalArgumentException if the facts are not of all {@link ObserverSettings#programs}
     */
    public Observation observe(HostFacts facts, Set<ProcessId> verified) {
        var findings = new Findings();
        var privileges = new Privileges(settings, facts.access());
        var missingPrivileges = privileges.missing();
        var other = findings.add(SecondEnforcer.of(facts.enforcers()));
        missingPrivileges.forEach(privilege -> findings.add(privilege.problem()));
        accounts = findings.add(accountReader.read(facts.accounts()));
        immunity = findings.add(ImmunityRules.of(
                settings.exemptUsers(),
                settings.programs(),
                facts.access().pid(),
                accounts.accounts(),
                facts.programs(),
                programHistory));
        var listing = listing(facts, privileges);
        findings.add(listing);
        var present = findings.add(listedProcesses.observe(listing, facts));
        findings.add(unread.observe(facts.allProcesses()));
        var state = stateParser.parse(facts.earlierState(), facts.state());
        var live = findings.add(LiveState.of(state, facts.liveness(), accounts.accounts(), immunity.exempt()));
        workloads.begin();
        var members = new Members(
                RelatedFacts.of(present.processes(), facts),
                memberships,
                workloads,
                live,
                immunity,
                accounts,
                facts,
                findings);
        var listed = present.processes().stream()
                .map(process -> members.resolve(
                        process,
                        listing.value().usage().getOrDefault(process.id().pid(), List.of())))
                .toList();
        var devices = findings.add(live.devices(listing.value().devices(), findings.missing()));
        var notListed = findings.add(unlisted.observe(facts, present.listing(), immunity.ownPid(), members::resolve));
        environs = members.environs();
        if (!findings.missing().contains(SnapshotPart.PROCESSES)
                && !findings.missing().contains(SnapshotPart.EVERY_PROCESS)) {
            memberships.retain(environs.keySet());
            workloads.retain(environs.keySet());
        }
        var status = MachineStatus.of(facts.state(), findings.add(DeviceStatuses.of(facts.gpu())));
        var snapshot = new Snapshot(
                settings.host(),
                listed,
                notListed,
                live.environments(),
                devices,
                listing.value().devices(),
                live.uidsOfPids(),
                accounts.subordinateUids(),
                findings.missing(),
                findings.problems());
        return new Observation(
                snapshot,
                driver(facts.machine()),
                facts.machine().beforeState(),
                privileges.isOutsideHostPid() ? Set.of() : ended(facts.verified(), verified),
                missingPrivileges.stream().map(MissingPrivilege::name).toList(),
                privileges.isOutsideHostPid()
                        ? settings.advice().namespaceReason()
                        : other.or(this::unresolvedUsers).orElse(null),
                machine(facts.machine()),
                state.lockWait(),
                memberships.listings(),
                accounts.accounts(),
                status);
    }

    /** Continues with what an earlier run of the service remembered. */
    public void restore(Listings listings) {
        memberships.restore(listings);
    }

    /** Returns the processes whose relations are not needed in the next observation. */
    public Set<ProcessId> settled() {
        return memberships.settled();
    }

    /** Returns the processes whose cgroups need not be read in the next observation. */
    public Set<ProcessId> attributed() {
        return workloads.known();
    }

    /** Returns the subordinate uids of the users, as the last observation saw them. */
    public SubordinateUids subordinateUids() {
        return accounts.subordinateUids();
    }

    /** Returns the environ of a process as the last observation saw it. */
    public ProgramEnviron environ(ProcessId process) {
        return environs.getOrDefault(process, NOT_OBSERVED);
    }

    /** Returns which processes were immune at the last observation. */
    public ImmunityRules immunity() {
        return immunity;
    }

    /** Returns the same with the present files of the protected programs. */
    public ImmunityRules immunity(List<Reading<ProgramFile>> programs) {
        return ImmunityRules.of(
                        settings.exemptUsers(),
                        settings.programs(),
                        immunity.ownPid(),
                        accounts.accounts(),
                        programs,
                        programHistory)
                .value();
    }

    /** Whether the next observation must read the used memory of the devices anew. */
    public boolean needsDeviceMemory() {
        return unlisted.needsDeviceMemory() || listedProcesses.needsDeviceMemory();
    }

    /** Returns the listed pids that belonged to other processes at the last observation. */
    public Set<Integer> reusedPids() {
        return listedProcesses.reused();
    }

    /** Returns the pids of the processes whose environs the last observation had no time for, those that wait the longest first. */
    public List<Integer> unread() {
        return unread.pids();
    }

    /** Returns the processes that hold GPUs without being listed. */
    public UnlistedProcesses unlisted() {
        return unlisted;
    }

    private Optional<String> unresolvedUsers() {
        return accountReader.hasAccounts() || !ConfiguredUsers.areNamed(settings.exemptUsers(), settings.programs())
                ? Optional.empty()
                : Optional.of(
                        "/etc/passwd of this host could not be read yet, so the uids of the users in the settings are unknown");
    }

    private Found<GpuListing> listing(HostFacts facts, Privileges privileges) {
        if (privileges.isOutsideHostPid()) {
            return Found.of(GpuListing.NONE).without(SnapshotPart.PROCESSES);
        }
        order.recordBoot(facts.machine().bootId());
        var listed = GpuListing.of(facts.gpu(), order);
        var found = settings.advice() == Advice.CONTAINER
                ? gpuAccess.review(listed, facts.gpu(), driver(facts.machine()) != null)
                : listed;
        var pids = facts.processes().stream().map(ProcessFacts::pid).collect(Collectors.toUnmodifiableSet());
        var usage = found.value().usage();
        return pids.containsAll(usage.keySet())
                ? found
                : new Found<>(GpuListing.NONE, found.problems(), found.missing())
                        .without(SnapshotPart.PROCESSES)
                        .with(new Problem(
                                ProblemCode.GPU_TOOL_FAILED,
                                "nvidia-smi lists more processes than can be observed: %d".formatted(usage.size())));
    }

    private static Set<ProcessId> ended(List<VerifiedProcess> facts, Set<ProcessId> verified) {
        var stats = facts.stream()
                .collect(Collectors.toMap(VerifiedProcess::pid, VerifiedProcess::stat, (first, _) -> first));
        return verified.stream()
                .filter(id -> Optional.ofNullable(stats.get(id.pid()))
                        .filter(stat -> ProcessIdentity.hasEnded(id, stat))
                        .isPresent())
                .collect(Collectors.toUnmodifiableSet());
    }

    private static @Nullable String driver(MachineFacts machine) {
        var match = DRIVER.matcher(machine.driver());
        return match.find() ? match.group(1) : null;
    }

    /** Machines that were copied have the same id, but none of them has the boot of another. */
    static @Nullable String machine(MachineFacts machine) {
        var known = MACHINE.matcher(machine.machineId()).matches()
                && BOOT.matcher(machine.bootId()).matches();
        return known ? machine.machineId() + " " + machine.bootId() : null;
    }

    /** Whether another enforcer acts on the state directory, so that this one only observes. */
    static final class SecondEnforcer {
        private static final String LOCK = ".genv-enforcer.lock";
        /** Without the times of the lease: a text that changes with every observation would be reported with each one. */
        private static final String LEASED =
                "another service acts on this host over SSH, or this one did before its restart, and that lease has"
                        + " not expired";

        private SecondEnforcer() {}

        /** Returns the enforcer that acts instead of this one, as a sentence; empty if this one may act. */
        static Found<Optional<String>> of(EnforcerFacts facts) {
            var other = switch (facts.other()) {
                case null -> null;
                case EnforcerFacts.Other.OnMachine(var pid) ->
                    "another enforcer%s acts on this state directory"
                            .formatted(pid == 0 ? "" : " (process %d)".formatted(pid));
                case EnforcerFacts.Other.Leased _ -> LEASED;
            };
            var found = Found.of(Optional.ofNullable(other));
            if (other != null) {
                return found.with(new Problem(ProblemCode.SECOND_ENFORCER, other + ": this one only observes"));
            }
            return facts.unusable().isEmpty()
                    ? found
                    : found.with(new Problem(
                            ProblemCode.ENFORCER_LOCK_UNUSABLE,
                            "%s %s. Remove the file: it is unknown whether another enforcer acts here too"
                                    .formatted(LOCK, facts.unusable())));
        }
    }

    /** The problems and missing parts of one observation, in the order in which they were found. */
    public static final class Findings {
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
}
