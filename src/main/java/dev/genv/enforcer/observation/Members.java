package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.RelatedOmission;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.linux.PasswdFile;
import dev.genv.enforcer.linux.PasswdFile.SubuidFile;
import dev.genv.enforcer.linux.ProcStat.Cgroup;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.observation.Members.AccountReader.HostAccounts;
import dev.genv.enforcer.observation.MembershipResolver.Decision;
import dev.genv.enforcer.observation.Observer.Findings;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.observation.RelatedProcesses.ProgramEnviron;
import dev.genv.enforcer.observation.RelatedProcesses.RelatedProcess;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

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

    Map<ProcessId, ProgramEnviron> environs() {
        return Map.copyOf(environs);
    }

    /** The processes of an observation, as far as they can be witnesses for the membership of one another. */
    record RelatedFacts(RelatedProcesses processes) {
        private static final String FIRST_PROCESS = "1";

        /**
         * Combines the processes that the GPU tool lists with the others in the facts, such as those that hold GPUs without being listed.
         */
        static RelatedFacts of(List<ObservedProcess> listed, HostFacts facts) {
            var byPid = listed.stream()
                    .collect(Collectors.toMap(process -> process.id().pid(), Function.identity(), (first, _) -> first));
            var known =
                    facts.processes().stream().flatMap(process -> related(byPid.get(process.pid()), process).stream());
            var holders = facts.holders().holders().stream().map(HolderFacts.Holder::process);
            var others = new ArrayList<RelatedProcess>();
            var omission = facts.relatedOmission();
            for (var process : Stream.concat(facts.related().stream(), holders).toList()) {
                switch (ProcessIdentity.of(process)) {
                    case ProcessIdentity.Gone _ -> {}
                    case ProcessIdentity.Unreadable _ -> omission = RelatedOmission.OF_ANY_USER;
                    case ProcessIdentity.Present(var present) -> {
                        var related = related(present, process);
                        related.ifPresent(others::add);
                        omission = related.isPresent() ? omission : RelatedOmission.OF_ANY_USER;
                    }
                }
            }
            return new RelatedFacts(
                    RelatedProcesses.of(Stream.concat(known, others.stream()).toList(), omission));
        }

        Optional<RelatedProcess> of(ObservedProcess process) {
            return Optional.ofNullable(processes.byPid().get(process.id().pid()))
                    .filter(related -> related.id().equals(process.id()));
        }

        private static Cgroup cgroup(Reading<Bytes> reading) {
            return reading instanceof Reading.Value<Bytes>(var content)
                            && content.length() < ProcessFacts.LARGEST_CGROUP
                    ? Cgroup.parse(content.text())
                    : Cgroup.UNKNOWN; // a longer one was cut off
        }

        private static Optional<RelatedProcess> related(@Nullable ObservedProcess process, ProcessFacts facts) {
            if (process == null || process.uid() == null) {
                return Optional.empty();
            }
            var pids = facts.namespacePids() instanceof Reading.Value<Bytes>(var value)
                    ? value.text().strip().split("\\s+")
                    : new String[0];
            return Optional.of(new RelatedProcess(
                    process.id(),
                    process.uid(),
                    process.relations(),
                    process.environ(),
                    cgroup(facts.cgroup()),
                    pids.length,
                    pids.length > 0 && pids[pids.length - 1].equals(FIRST_PROCESS)));
        }
    }

    /** The accounts of a machine, passwd(5), and their subordinate uids, subuid(5). A file is parsed only if its version is new. */
    static final class AccountReader {
        private final ParsedFile<Accounts> passwd = new ParsedFile<>(PasswdFile::parse, Accounts.NONE);
        private final ParsedFile<SubuidFile> subuid = new ParsedFile<>(SubuidFile::parse, SubuidFile.EMPTY);

        /** Accounts and their subordinate uids. */
        record HostAccounts(Accounts accounts, SubordinateUids subordinateUids) {
            /**
             * Returns the account of the real uid of a process, the first one by its name. A subordinate uid is its owner's. Another uid in a
             * container of root may be anybody's, so it has none.
             */
            @Nullable
            String accountOf(@Nullable Long uid, @Nullable Workload workload) {
                var owner = subordinateUids.ownerOf(uid);
                return owner == null || (owner.equals(uid) && workload != null && workload.isInContainerOfRoot())
                        ? null
                        : accounts.namesOf(owner).stream()
                                .min(Comparator.naturalOrder())
                                .orElse(null);
            }
        }

        /** Returns the present accounts; the last known ones and a problem if they cannot be read. A machine without subuid(5) has none. */
        Found<HostAccounts> read(AccountFacts facts) {
            var unreadable = passwd.read(facts.passwd())
                    .map(why -> problem("the accounts of this host cannot be read from /etc/passwd: ", why));
            var noSubuid = facts.subuid() instanceof Reading.Failed<TextFile>(var failure, var _)
                    && failure == Reading.Failure.ABSENT;
            var unreadableSubuid = (noSubuid ? Optional.<String>empty() : subuid.read(facts.subuid()))
                    .map(why -> problem("the subordinate uids of the users cannot be read from /etc/subuid: ", why));
            var accounts = passwd.latest;
            var found =
                    Found.of(new HostAccounts(accounts, noSubuid ? SubordinateUids.NONE : subuid.latest.of(accounts)));
            found = unreadable.map(found::with).orElse(found);
            return unreadableSubuid.map(found::with).orElse(found);
        }

        /** Whether the accounts have been read at least once. */
        boolean hasAccounts() {
            return !passwd.version.isEmpty();
        }

        private static Problem problem(String what, String why) {
            return new Problem(ProblemCode.PASSWD_UNREADABLE, what + why);
        }

        /** The last content of a file that could be read. */
        private static final class ParsedFile<T> {
            private final Function<String, T> parser;
            private String version = "";
            private T latest;

            ParsedFile(Function<String, T> parser, T absent) {
                this.parser = parser;
                latest = absent;
            }

            /** Reads a new version, and returns why that was not possible. */
            Optional<String> read(Reading<TextFile> reading) {
                return switch (reading) {
                    case Reading.Failed<TextFile>(var _, var reason) -> Optional.of(reason);
                    case Reading.Value<TextFile>(var file) -> {
                        var content = file.content();
                        if (content != null && !file.version().equals(version)) {
                            latest = parser.apply(content.text());
                            version = file.version();
                        }
                        yield file.version().equals(version) ? Optional.empty() : Optional.of("its content is missing");
                    }
                };
            }
        }
    }
}
