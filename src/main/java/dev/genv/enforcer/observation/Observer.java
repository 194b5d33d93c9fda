package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.EnforcerFacts;
import dev.genv.enforcer.host.HostFacts.MachineFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.VerifiedProcess;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.Excuses;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.model.Ternary;
import dev.genv.enforcer.observation.AccountReader.HostAccounts;
import dev.genv.enforcer.observation.AccountReader.KnownAccounts;
import dev.genv.enforcer.observation.AccountReader.RecordedNames;
import dev.genv.enforcer.observation.ConfiguredUsers.ExemptUsers;
import dev.genv.enforcer.observation.GpuReport.GpuHistory;
import dev.genv.enforcer.observation.GpuReport.ReportedProcesses;
import dev.genv.enforcer.observation.ImmunityRules.ProgramHistory;
import dev.genv.enforcer.observation.ObserverSettings.Advice;
import dev.genv.enforcer.observation.ObserverSettings.Privileges;
import dev.genv.enforcer.observation.ObserverSettings.Privileges.MissingPrivilege;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Interprets the facts of one machine. Its parts keep what later observations need, for example the order of the devices, earlier
 * memberships, the files of protected programs, accounts, and the last status of the devices.
 * One thread at a time uses it.
 */
public final class Observer {
    private static final Pattern DRIVER = Pattern.compile("NVRM version:.*?\\s([0-9]+(?:\\.[0-9]+)+)\\s");
    private static final Pattern MACHINE = Pattern.compile("[0-9a-f]{32}");
    private static final Pattern BOOT = Pattern.compile("[0-9a-f-]{36}");

    /** Without the times of the lease: a text that changes with every observation would be reported with each one. */
    private static final String LEASED =
            "another service acts on this host over SSH, or this one did before its restart, and that lease has"
                    + " not expired";

    private ObserverSettings settings;
    private final GpuHistory gpus = new GpuHistory();
    private final ReportedProcesses reportedProcesses = new ReportedProcesses();
    private final Workloads workloads = new Workloads();
    private final UnreadProcesses unread = new UnreadProcesses();
    private final AccountReader accountReader;
    private final RecordedNames recordedNames = new RecordedNames();
    private final StateParser stateParser;
    private final UnexplainedMemory unexplained;
    private HostAccounts accounts = new HostAccounts(Accounts.NONE, SubordinateUids.NONE);
    private final MembershipResolver memberships;
    private final ProgramHistory programHistory = new ProgramHistory();
    private ImmunityRules immunity = new ImmunityRules(0, ExemptUsers.NONE, ExemptCgroups.NONE, List.of());
    private KnownAccounts known = KnownAccounts.NONE;
    private List<String> users = List.of();
    private List<DeviceStatus> statuses = List.of();
    private Findings statusFindings = new Findings();

    public Observer(ObserverSettings settings) {
        this.settings = settings;
        stateParser = new StateParser(settings.stateDirectory());
        memberships = new MembershipResolver(settings.overwrittenIsOutside());
        unexplained = new UnexplainedMemory(settings.unlistedMemory());
        accountReader = new AccountReader(settings.configuredUsers(), settings.policyGroups());
    }

    /** Takes over the users whom other settings name. */
    public void apply(ObserverSettings other) {
        settings = other;
        accountReader.configure(other.configuredUsers(), other.policyGroups());
    }

    /**
     * Interprets facts. Parts that could not be read are problems and missing parts of the result.
     *
     * @param verified the processes whose exit the service waits for
     * @param hasAskedStatus whether it was asked what the driver measures on the devices. If not, what the last answer said is kept
     * @param at when, by the wall clock, in seconds since 1970: for what another run of the service continues with
     * @throws IllegalArgumentException if the facts are not of all {@link ObserverSettings#programs}
     */
    public Snapshot observe(HostFacts facts, Set<ProcessId> verified, boolean hasAskedStatus, long at) {
        var findings = new Findings();
        var privileges = new Privileges(settings, facts.access());
        var missingPrivileges = privileges.missing();
        var other = otherEnforcer(facts.enforcers(), findings);
        missingPrivileges.forEach(privilege -> findings.add(privilege.problem()));
        accounts = accountReader.read(
                facts.accounts(), machineId(facts.machine()), facts.machine().beforeState(), at, findings);
        known = accountReader.known(machineId(facts.machine()));
        immunity = immunity(facts, findings);
        var report = gpuReport(facts, privileges);
        findings.addAll(report.problems());
        report.missing().forEach(findings::miss);
        workloads.beginObservation();
        var identities = ProcessIdentity.byPid(facts.processes());
        var present = reportedProcesses.observe(report, facts.machine(), identities, findings);
        unread.observe(facts.processes(), findings);
        var state = stateParser.parse(facts.earlierState(), facts.state());
        var live = LiveState.of(state, facts.liveness(), immunity.exempt(), findings);
        recordedNames.observe(live.environments());
        var devices = live.devices(report.devices(), findings);
        var excuses = new Excuses(live.environments(), devices, !findings.isMissing(SnapshotPart.ATTACHMENTS));
        var ancestors = Ancestors.of(identities.values(), facts.ancestors());
        var observed = new HashSet<ProcessId>();
        BiFunction<ObservedProcess, List<DeviceUsage>, GpuProcess> resolver = (process, usage) -> {
            observed.add(process.id());
            var chain = ancestors.of(process);
            var resolved = excuses.apply(
                    resolve(process, usage, chain, live, findings),
                    chain.processes().stream().map(ObservedProcess::pid),
                    chain.isComplete());
            if (resolved.devices().stream().anyMatch(resolved::isExcusedOn)) {
                memberships.rememberOtherListing(process);
            }
            return resolved;
        };
        var listed = present.processes().stream()
                .map(process -> resolver.apply(process, report.usage().getOrDefault(process.pid(), List.of())))
                .toList();
        var notExplained = unexplained.observe(present.report(), facts.gpu().devicesAreCurrent(), findings);
        var environments = live.environments().stream()
                .map(environment -> accounts.withOwner(environment, listed))
                .toList();
        users = users(listed, live);
        if (!findings.isMissing(SnapshotPart.PROCESSES) && !findings.isMissing(SnapshotPart.EVERY_PROCESS)) {
            memberships.retain(observed);
        }
        if (hasAskedStatus) {
            statusFindings = new Findings();
            statuses = report.missing().contains(SnapshotPart.PROCESSES)
                    ? List.of()
                    : DeviceStatuses.of(facts.gpu(), statusFindings);
        }
        findings.addAll(statusFindings.problems());
        return new Snapshot(
                settings.host(),
                listed,
                notExplained,
                environments,
                devices,
                report.devices(),
                findings.missing(),
                findings.problems(),
                new HostDetails(
                        HostDetails.Answer.UNTIMED,
                        machine(facts.machine()),
                        facts.machine().beforeState(),
                        privileges.isOutsideHostPid() ? Set.of() : ended(facts.verified(), verified),
                        missingPrivileges.stream().map(MissingPrivilege::name).toList(),
                        privileges.isOutsideHostPid()
                                ? settings.needs().advice().namespaceReason()
                                : other.orElse(null),
                        accounts.accounts(),
                        statuses,
                        new HostDetails.Shown(state.lockWait(), driver(facts.machine()), hasGenv(facts.state()))));
    }

    /** Returns the accounts that the name service found, to continue with them in another run of the service. */
    public KnownAccounts knownAccounts() {
        return known;
    }

    public void restore(KnownAccounts earlier) {
        known = earlier;
        accountReader.restore(earlier);
    }

    private GpuProcess resolve(
            ObservedProcess process,
            List<DeviceUsage> usage,
            Ancestors.Chain ancestors,
            LiveState live,
            Findings findings) {
        var decision = memberships.decide(process, ancestors);
        var membership = live.resolve(decision.membership(), process.pid(), findings);
        var workload = workloads.interpret(process.facts().cgroup());
        var owner = accounts.ownerOf(process.uid(), process.facts().uidMap());
        var rangeOwner = accounts.subordinateUids().rangeOwnerOf(process.uid());
        if (owner == null && process.uid() != null && workload.inContainerOfRoot() != Ternary.YES) {
            findings.add(
                    ProblemCode.OWNER_UNKNOWN,
                    "process %d is of uid %d, which %s, and its user namespace does not show whose it is"
                            .formatted(
                                    process.pid(),
                                    process.uid(),
                                    rangeOwner == null
                                            ? "is in no known range of subordinate uids"
                                            : "is in the range of subordinate uids of uid " + rangeOwner));
        }
        var immune = immunity.immunity(process, owner, rangeOwner);
        if (immune != null && Boolean.FALSE.equals(immune.isCertain())) {
            findings.add(
                    ProblemCode.IMMUNITY_UNKNOWN,
                    "process %d is not terminated: %s".formatted(process.pid(), immune.reason()));
        }
        return new GpuProcess(
                process.id(),
                process.uid(),
                process.command(),
                membership,
                decision.by(),
                usage,
                immune,
                workload,
                accounts.userOf(owner, process.uid(), workload, recordedNames),
                owner,
                rangeOwner,
                Set.of());
    }

    /** Returns what the next observation needs, by what the earlier ones showed. */
    public ObservationRequest request(Set<ProcessId> verified, boolean asksStatus) {
        return new ObservationRequest(
                verified,
                unexplained.needsDeviceMemory() || reportedProcesses.needsDeviceMemory(),
                asksStatus,
                Stream.concat(verified.stream().map(ProcessId::pid), unread.pids().stream())
                        .toList(),
                accountReader.unknown(users),
                accountReader.knownUids(users),
                accountReader.room(),
                accountReader.unknownConfigured(),
                accountReader.unknownGroups(),
                accountReader.unknownMembers(users),
                accounts.subordinateUids());
    }

    /**
     * Returns the users whose accounts matter besides those of the settings, the most reliable first: the real uids, the owners of subordinate
     * uids, and what every user can record.
     */
    private List<String> users(List<GpuProcess> processes, LiveState live) {
        var uids = Stream.concat(
                processes.stream().map(GpuProcess::ownerOrUid),
                live.environments().stream()
                        .flatMap(environment -> environment.ownership().uids().stream())
                        .map(accounts.subordinateUids()::ownerOf));
        var recorded = live.environments().stream()
                .flatMap(environment -> Stream.of(environment.uid(), environment.username()));
        return Stream.of(uids, accountReader.subordinateOwners(), recorded)
                .flatMap(Function.identity())
                .filter(Objects::nonNull)
                .map(Object::toString)
                .distinct()
                .toList();
    }

    private ImmunityRules immunity(HostFacts facts, Findings findings) {
        return ImmunityRules.of(
                settings.exemptUsers(accounts.accounts()),
                new ExemptCgroups(
                        settings.exemptCgroups(),
                        settings.earlierCgroups(),
                        facts.machine().cgroupRoot()),
                settings.programs(),
                facts.access().pid(),
                facts.programs(),
                programHistory,
                findings);
    }

    private GpuReport gpuReport(HostFacts facts, Privileges privileges) {
        if (privileges.isOutsideHostPid()) {
            return GpuReport.none(List.of(), Set.of());
        }
        gpus.rememberBoot(facts.machine());
        var report = settings.needs().advice() == Advice.CONTAINER
                ? gpus.interpretInContainer(facts.gpu(), driver(facts.machine()) != null)
                : gpus.interpret(facts.gpu());
        var pids = facts.processes().stream().map(ProcessFacts::pid).collect(Collectors.toUnmodifiableSet());
        if (pids.containsAll(report.usage().keySet())) {
            return report;
        }
        var problems = new ArrayList<>(report.problems());
        problems.add(new Problem(
                ProblemCode.GPU_TOOL_FAILED,
                "nvidia-smi lists more processes than can be observed: %d"
                        .formatted(report.usage().size())));
        return GpuReport.none(problems, report.missing());
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

    /** Whether genv has recorded something. An empty directory is none of genv's: the engine of a container creates it for the mount. */
    static @Nullable Boolean hasGenv(StateFacts state) {
        return switch (state.directory()) {
            case Directory.Present _ ->
                !(state.envs() instanceof StateFile.Absent && state.devices() instanceof StateFile.Absent);
            case Directory.Absent _ -> false;
            case Directory.UserMount _, Directory.Stale _, Directory.Unreadable _ -> null;
        };
    }

    private static @Nullable String machineId(MachineFacts machine) {
        return MACHINE.matcher(machine.machineId()).matches() ? machine.machineId() : null;
    }

    /** Machines that were copied have the same id, but none of them has the boot of another. */
    static @Nullable String machine(MachineFacts machine) {
        var known = MACHINE.matcher(machine.machineId()).matches()
                && BOOT.matcher(machine.bootId()).matches();
        return known ? machine.machineId() + " " + machine.bootId() : null;
    }

    /** Returns the enforcer that acts on the state directory instead of this one, as a sentence; empty if this one may act. */
    private static Optional<String> otherEnforcer(EnforcerFacts facts, Findings findings) {
        var other = switch (facts.other()) {
            case null -> null;
            case EnforcerFacts.Other.OnMachine(var pid) ->
                "another enforcer%s acts on this state directory"
                        .formatted(pid == 0 ? "" : " (process %d)".formatted(pid));
            case EnforcerFacts.Other.Leased _ -> LEASED;
        };
        if (other != null) {
            findings.add(ProblemCode.SECOND_ENFORCER, other + ": this one only observes");
        } else if (!facts.unusable().isEmpty()) {
            findings.add(
                    ProblemCode.ENFORCER_LOCK_UNUSABLE,
                    ".genv-enforcer.lock %s. Remove the file: it is unknown whether another enforcer acts here too"
                            .formatted(facts.unusable()));
        }
        return Optional.ofNullable(other);
    }
}
