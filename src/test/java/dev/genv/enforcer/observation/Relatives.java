package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.RelatedOmission;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.linux.ProcStat.Addresses;
import dev.genv.enforcer.linux.ProcStat.Cgroup;
import dev.genv.enforcer.linux.ProcStat.Relations;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Environment.Ownership;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.MembershipResolver.Decision;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron.Content;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The processes of a machine and its environments. At first, process 100 of user 1003 is a shell without an id that leads the session and
 * the process group 100, and process 812, its child, has overwritten its environ. Each process was started at the tick of its pid.
 */
final class Relatives {
    private static final String MACHINE = "machine";

    static final int SHELL = 100;
    static final int JOB = 812;
    static final long ALICE = 1003;
    static final long BOB = 1004;

    private final Map<Integer, ObservedProcess> processes = new LinkedHashMap<>();
    private final List<Environment> environments = new ArrayList<>();
    private RelatedOmission omission = RelatedOmission.NONE;
    private boolean environmentsKnown = true;

    Relatives() {
        process(SHELL, 1).session(SHELL).intact(null).add();
        process(JOB, SHELL).session(SHELL).add();
    }

    Builder process(int pid, int parent) {
        return new Builder(pid, parent);
    }

    /** The same process with something else. */
    Builder change(int pid) {
        return new Builder(known(pid));
    }

    Relatives without(int pid) {
        processes.remove(pid);
        return this;
    }

    Relatives incomplete() {
        omission = RelatedOmission.OF_ANY_USER;
        return this;
    }

    Relatives incomplete(long uid) {
        omission = new RelatedOmission(false, Set.of(uid));
        return this;
    }

    Relatives environment(String eid, @Nullable Long uid, Integer... pids) {
        environments.add(new Environment(
                eid, uid, "alice", "", new Environment.Config(null, null, null), List.of(pids), List.of()));
        return this;
    }

    Relatives disputed(String eid, Integer... pids) {
        environments.add(new Environment(
                eid,
                ALICE,
                "alice",
                "",
                new Environment.Config(null, null, null),
                List.of(pids),
                List.of(),
                new Ownership("of two users", false, Set.of())));
        return this;
    }

    Relatives noEnvironments() {
        environments.clear();
        return this;
    }

    Relatives environmentsUnknown() {
        environmentsKnown = false;
        return this;
    }

    /** Observes the environments at these ticks, without any process. */
    void observeEnvironments(MembershipResolver resolver, long ticks) {
        resolver.begin(MACHINE, RelatedProcesses.of(List.of(), RelatedOmission.NONE), environments, ticks);
    }

    /** Observes all processes at these ticks. */
    Relatives observe(MembershipResolver resolver, long ticks) {
        resolver.begin(MACHINE, RelatedProcesses.of(processes.values(), omission), environments, ticks);
        return this;
    }

    /** Observes the job after these ticks. */
    Decision decide(MembershipResolver resolver, long ticks) {
        return decide(resolver, ticks, JOB);
    }

    /** Observes a process after these ticks. */
    Decision decide(MembershipResolver resolver, long ticks, int pid) {
        return resolver.begin(
                        MACHINE,
                        RelatedProcesses.of(processes.values(), omission),
                        environmentsKnown ? environments : null,
                        ticks)
                .decide(known(pid));
    }

    /** Observes the job for the first time, after it was started. */
    Decision decide() {
        return decide(resolver(false), 5000);
    }

    /** Returns a resolver of a service that observed before any of the processes was started. */
    static MembershipResolver resolver(boolean isOverwrittenOutside) {
        var resolver = new MembershipResolver(isOverwrittenOutside);
        resolver.begin(MACHINE, RelatedProcesses.of(List.of(), RelatedOmission.NONE), List.of(), 1);
        return resolver;
    }

    private ObservedProcess known(int pid) {
        return Objects.requireNonNull(processes.get(pid));
    }

    final class Builder {
        private final int pid;
        private final int parent;
        private final long start;
        private long uid = ALICE;
        private int group;
        private int session;
        private ProgramEnviron environ;
        private Cgroup cgroup = Cgroup.UNKNOWN;
        private int namespaces = 1;
        private boolean first;

        private Builder(int pid, int parent) {
            this.pid = pid;
            this.parent = parent;
            start = pid;
            group = pid;
            session = pid;
            environ = new ProgramEnviron(new Content.Overwritten(), addresses(0));
        }

        private Builder(ObservedProcess former) {
            pid = former.pid();
            var relations = Objects.requireNonNull(former.relations());
            parent = relations.parent();
            start = former.id().startTime();
            uid = Objects.requireNonNull(former.uid());
            group = relations.group();
            session = relations.session();
            environ = former.environ();
            cgroup = former.cgroup();
            namespaces = former.namespaces();
            first = former.firstOfNamespace();
        }

        Builder uid(long other) {
            uid = other;
            return this;
        }

        Builder session(int leader) {
            session = leader;
            return this;
        }

        Builder group(int leader) {
            group = leader;
            return this;
        }

        Builder intact(@Nullable String eid) {
            environ = new ProgramEnviron(
                    new Content.Intact(eid == null ? new Membership.Outside() : new Membership.InEnvironment(eid)),
                    environ.addresses());
            return this;
        }

        Builder overwritten() {
            environ = new ProgramEnviron(new Content.Overwritten(), environ.addresses());
            return this;
        }

        Builder unavailable() {
            environ = ProgramEnviron.unavailable(new Membership.Unknown("its environ does not answer"));
            return this;
        }

        /** With another program. */
        Builder executed(int number) {
            environ = new ProgramEnviron(environ.content(), addresses(number));
            return this;
        }

        Builder cgroup(String path) {
            cgroup = new Cgroup(path);
            return this;
        }

        Builder container(int depth, boolean isFirst) {
            namespaces = depth;
            first = isFirst;
            return this;
        }

        Relatives add() {
            return add(parent, start);
        }

        /** With another parent, or another start. */
        Relatives add(int otherParent, long otherStart) {
            processes.put(
                    pid,
                    new ObservedProcess(
                            new ProcessId(pid, otherStart),
                            uid,
                            "python",
                            environ,
                            new Relations(otherParent, group, session),
                            false,
                            cgroup,
                            namespaces,
                            first,
                            new ProcessFacts(
                                    pid,
                                    ProcessFacts.skipped(),
                                    Reading.of(uid),
                                    ProcessFacts.skipped(),
                                    ProcessFacts.skipped(),
                                    ProcessFacts.skipped())));
            return Relatives.this;
        }

        private static Addresses addresses(int number) {
            return new Addresses(6000, 7000 + number, 7000 + number, 8000);
        }
    }
}
