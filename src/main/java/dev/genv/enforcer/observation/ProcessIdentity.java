package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.Environ;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.linux.ProcStat.Addresses;
import dev.genv.enforcer.linux.ProcStat.Cgroup;
import dev.genv.enforcer.linux.ProcStat.Relations;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The identity of a process: start time, real uid, environ. */
public sealed interface ProcessIdentity {
    /** It has exited, a zombie included, or another process has its pid now. */
    record Gone() implements ProcessIdentity {}

    /** It is unknown whether it has exited, for a reason as a clause. */
    record Unreadable(String reason) implements ProcessIdentity {}

    record Present(ObservedProcess process) implements ProcessIdentity {}

    /** Combines the facts of a process. They belong together only if it was the same process before and after. */
    static ProcessIdentity of(ProcessFacts facts) {
        if (isAbsent(facts.before()) || isAbsent(facts.after())) {
            return new Gone();
        }
        var before = stat(facts.before());
        var after = stat(facts.after());
        if (before.isEmpty() || after.isEmpty()) {
            return new Unreadable(reason(before.isEmpty() ? facts.before() : facts.after()));
        }
        var first = before.get();
        var last = after.get();
        if (first.isZombie() || last.isZombie() || first.startTime() != last.startTime()) {
            return new Gone();
        }
        var uid = facts.uid() instanceof Reading.Value<Long>(var number) ? number : null;
        var pids = facts.namespacePids() instanceof Reading.Value<Bytes>(var content)
                ? content.text().strip().split("\\s+")
                : new String[0];
        return new Present(new ObservedProcess(
                new ProcessId(facts.pid(), last.startTime()),
                uid,
                last.command(),
                uid == null ? ProgramEnviron.UID_UNKNOWN : ProgramEnviron.of(facts.environ(), first, last),
                first.relations().equals(last.relations()) ? last.relations() : null,
                last.isKernelThread(),
                cgroup(facts.cgroup()),
                pids.length,
                pids.length > 0 && pids[pids.length - 1].equals("1"),
                facts));
    }

    /** Whether a process has certainly exited; a zombie has. */
    static boolean hasEnded(ProcessId id, Reading<Bytes> stat) {
        return isAbsent(stat)
                || stat(stat)
                        .filter(now -> now.isZombie() || now.startTime() != id.startTime())
                        .isPresent();
    }

    private static boolean isAbsent(Reading<Bytes> stat) {
        return stat instanceof Reading.Failed<Bytes>(var failure, var _) && failure == Failure.ABSENT;
    }

    private static Optional<ProcStat> stat(Reading<Bytes> reading) {
        return reading instanceof Reading.Value<Bytes>(var bytes) ? ProcStat.tryParse(bytes.text()) : Optional.empty();
    }

    private static String reason(Reading<Bytes> stat) {
        return stat instanceof Reading.Failed<Bytes>(var _, var reason) && !reason.isEmpty()
                ? reason
                : "its stat is unknown";
    }

    private static Cgroup cgroup(Reading<Bytes> reading) {
        return reading instanceof Reading.Value<Bytes>(var content) && content.length() < ProcessFacts.LARGEST_CGROUP
                ? Cgroup.parse(content.text())
                : Cgroup.UNKNOWN; // a longer one was cut off
    }

    /**
     * A process that existed unchanged while its parts were read. It is a witness for the membership of others, unless its uid is unknown.
     *
     * @param uid the real one; null if it could not be read, and then the environ is unavailable too
     * @param relations null if they changed while its parts were read
     * @param namespaces the number of PID namespaces that it is in; 0 if unknown
     * @param firstOfNamespace whether it is the first process of its PID namespace, which adopts orphans
     */
    record ObservedProcess(
            ProcessId id,
            @Nullable Long uid,
            String command,
            ProgramEnviron environ,
            @Nullable Relations relations,
            boolean kernelThread,
            Cgroup cgroup,
            int namespaces,
            boolean firstOfNamespace,
            ProcessFacts facts) {
        private static final Long ROOT = 0L;
        private static final Pattern SLURM_JOB = Pattern.compile("[1-9][0-9]{0,9}");

        int pid() {
            return id.pid();
        }

        /** Returns what its environ says about the membership; empty if that says nothing. */
        Optional<Membership> named() {
            return environ.content() instanceof ProgramEnviron.Content.Intact(var named)
                    ? Optional.of(named)
                    : Optional.empty();
        }

        boolean names(String eid) {
            return named().filter(new Membership.InEnvironment(eid)::equals).isPresent();
        }

        /** Whether it may name any environment. */
        boolean isUnavailable() {
            return environ.content() instanceof ProgramEnviron.Content.Unavailable;
        }

        /** Returns the job that its environ names, empty if it names none; null if it is not as execve(2) wrote it. */
        @Nullable
        String slurmJob() {
            if (named().isEmpty() || !(facts.environ() instanceof Reading.Value<EnvironFacts>(var environment))) {
                return null;
            }
            var job = environment.slurmJob().text();
            return SLURM_JOB.matcher(job).matches() ? job : "";
        }

        /**
         * Whether nothing can be inferred about it from others. Root outside a container is no single user: programs that other users start with
         * sudo have its real uid and an environ of these users.
         */
        boolean isRootOfMachine() {
            return ROOT.equals(uid) && namespaces < 2;
        }

        /** Whether the other process has the same user, and is in the same container as far as PID namespaces show that. */
        boolean hasUserOf(ObservedProcess other) {
            return Objects.equals(uid, other.uid)
                    && namespaces == other.namespaces
                    && (!ROOT.equals(uid) || cgroup.isSameUnit(other.cgroup));
        }

        /** The same without what was not read. */
        boolean mayHaveUserOf(ObservedProcess other) {
            return Objects.equals(uid, other.uid)
                    && (namespaces == other.namespaces || namespaces == 0 || other.namespaces == 0);
        }

        /** Whether both are in one session. Those that began outside the PID namespace of the service have no id, which is 0. */
        boolean isInSessionOf(ObservedProcess other) {
            return session() != 0 && session() == other.session();
        }

        boolean isInGroupOf(ObservedProcess other) {
            return isInSessionOf(other) && group() == other.group();
        }

        boolean leadsSession() {
            return session() == pid();
        }

        /** Returns the id of its session; 0 if unknown. */
        int session() {
            return relations == null ? 0 : relations.session();
        }

        private int group() {
            return relations == null ? 0 : relations.group();
        }
    }

    /**
     * The environ of a program.
     *
     * @param addresses where it is; unknown also if it moved while it was read
     */
    record ProgramEnviron(Content content, Addresses addresses) {
        static final ProgramEnviron UID_UNKNOWN = unavailable(new Membership.Unknown("its real uid cannot be read"));

        /** What an environ says about the membership. */
        public sealed interface Content {
            /** It is as execve(2) wrote it, and names this environment or none. */
            record Intact(Membership named) implements Content {}

            /** The program wrote into it or moved it, so that it says nothing, whatever it contains. */
            record Overwritten() implements Content {}

            record Unavailable(Membership.Unknown reason) implements Content {}
        }

        public static ProgramEnviron unavailable(Membership.Unknown reason) {
            return new ProgramEnviron(new Content.Unavailable(reason), Addresses.UNKNOWN);
        }

        /** Returns the environ of a process by its stats before and after the environ was read. */
        public static ProgramEnviron of(EnvironFacts environ, ProcStat before, ProcStat after) {
            var hasThread = !before.hasEnded() && !after.hasEnded();
            var known = before.addresses().areKnown() && after.addresses().areKnown();
            if (hasThread && environ.size() == 0 && !known) {
                // It exits or is in execve: a process cannot set these addresses to 0.
                return unavailable(new Membership.Unknown("its environ is not available at this moment"));
            }
            var isSame = hasThread && before.addresses().equals(after.addresses());
            var content = environ.wellFormed() && before.isEnvironInPlace(after, environ.size())
                    ? new Content.Intact(Environ.named(environ.id().array(), environ.digest()))
                    : new Content.Overwritten();
            return new ProgramEnviron(content, isSame ? after.addresses() : Addresses.UNKNOWN);
        }

        private static ProgramEnviron of(Reading<EnvironFacts> reading, ProcStat before, ProcStat after) {
            return switch (reading) {
                case Reading.Value<EnvironFacts>(var environ) -> of(environ, before, after);
                case Reading.Failed<EnvironFacts>(var failure, var reason) ->
                    unavailable(
                            switch (failure) {
                                case DENIED -> Membership.NOT_PERMITTED;
                                case TIMEOUT, SKIPPED -> new Membership.Unknown("its environ does not answer");
                                case NO_TIME ->
                                    unreadable(reason.isEmpty() ? "no time was left to wait for its answer" : reason);
                                case ABSENT, UNTRUSTED, OTHER -> unreadable(reason);
                            });
            };
        }

        private static Membership.Unknown unreadable(String reason) {
            return new Membership.Unknown("its environ cannot be read" + (reason.isEmpty() ? "" : ": " + reason));
        }

        /** Whether it is the environ of the same program: a program keeps the addresses when it overwrites its environ. */
        public boolean isOfSameProgram(ProgramEnviron other) {
            return addresses.areKnown() && addresses.equals(other.addresses);
        }
    }
}
