package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.Environ;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.linux.ProcStat.Addresses;
import dev.genv.enforcer.linux.ProcStat.Relations;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Ternary;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The identity of a process: start time, real uid, environ. */
public sealed interface ProcessIdentity {
    /** It has exited, a zombie included, or another process has its pid now. */
    record Gone() implements ProcessIdentity {}

    /** It is unknown whether it has exited, for a reason as a clause. */
    record Unreadable(String reason) implements ProcessIdentity {}

    record Present(ObservedProcess process) implements ProcessIdentity {}

    /** Returns the processes by their pids; of two with the same pid the first one. */
    static Map<Integer, ProcessIdentity> byPid(List<ProcessFacts> processes) {
        var byPid = new HashMap<Integer, ProcessIdentity>();
        for (var process : processes) {
            byPid.computeIfAbsent(process.pid(), _ -> of(process));
        }
        return byPid;
    }

    /** Combines the facts of a process. They belong together only if it was the same process before and after. */
    static ProcessIdentity of(ProcessFacts facts) {
        if (isAbsent(facts.before()) || isAbsent(facts.after())) {
            return new Gone();
        }
        var before = stat(facts.before());
        var after = facts.after().equals(facts.before()) ? before : stat(facts.after());
        if (before.isEmpty() || after.isEmpty()) {
            return new Unreadable(reason(before.isEmpty() ? facts.before() : facts.after()));
        }
        var first = before.get();
        var last = after.get();
        if (first.isZombie() || last.isZombie() || first.startTime() != last.startTime()) {
            return new Gone();
        }
        var uid = facts.uid() instanceof Reading.Value<Long>(var number) ? number : null;
        return new Present(new ObservedProcess(
                new ProcessId(facts.pid(), last.startTime()),
                uid,
                last.command(),
                uid == null ? ProgramEnviron.UID_UNKNOWN : ProgramEnviron.of(facts.environ(), first, last),
                first.relations().equals(last.relations()) ? last.relations() : null,
                last.isKernelThread(),
                namespaces(facts.namespacePids()),
                facts));
    }

    /** Returns the number of PID namespaces; null if it is unknown. */
    private static @Nullable Integer namespaces(Reading<Bytes> pids) {
        if (!(pids instanceof Reading.Value<Bytes>(var content))) {
            return null;
        }
        var count = 0;
        var isInNumber = false;
        for (var character : content.array()) {
            var isDigit = character >= '0' && character <= '9';
            if (!isDigit && character != ' ' && character != '\t') {
                return null;
            }
            count += isDigit && !isInNumber ? 1 : 0;
            isInNumber = isDigit;
        }
        return count == 0 ? null : count;
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
        return reading instanceof Reading.Value<Bytes>(var bytes) ? ProcStat.tryParse(bytes.array()) : Optional.empty();
    }

    private static String reason(Reading<Bytes> stat) {
        return stat instanceof Reading.Failed<Bytes>(var _, var reason) && !reason.isEmpty()
                ? reason
                : "its stat is unknown";
    }

    /**
     * A process that existed unchanged while its parts were read.
     *
     * @param uid the real one; null if it could not be read, and then the environ is unavailable too
     * @param relations null if they changed while its parts were read
     * @param namespaces the number of PID namespaces that it is in; null if unknown
     */
    record ObservedProcess(
            ProcessId id,
            @Nullable Long uid,
            String command,
            ProgramEnviron environ,
            @Nullable Relations relations,
            boolean kernelThread,
            @Nullable Integer namespaces,
            ProcessFacts facts) {
        private static final Long ROOT = 0L;

        int pid() {
            return id.pid();
        }

        /** Returns what its environ says about the membership; empty if that says nothing. */
        Optional<Membership> named() {
            return environ.content() instanceof ProgramEnviron.Content.Intact(var named)
                    ? Optional.of(named)
                    : Optional.empty();
        }

        /**
         * Whether nothing can be inferred about it from others. Root outside a container is no single user: programs that other users start with
         * sudo have its real uid and an environ of these users.
         */
        boolean isRootOfMachine() {
            return ROOT.equals(uid) && (namespaces == null || namespaces < 2);
        }

        /** Whether the other process has the same real uid, and for root also the same PID namespaces, if one of both is the other's ancestor. */
        Ternary hasUserOf(ObservedProcess other) {
            if (uid == null || other.uid == null) {
                return Ternary.UNKNOWN;
            }
            if (!uid.equals(ROOT) || !uid.equals(other.uid)) {
                return Ternary.of(uid.equals(other.uid));
            }
            return namespaces == null || other.namespaces == null
                    ? Ternary.UNKNOWN
                    : Ternary.of(namespaces.equals(other.namespaces));
        }

        /** Whether both are in one session. The kernel shows 0 for each session that began outside the PID namespace of the service. */
        Ternary isInSessionOf(ObservedProcess other) {
            if (relations == null
                    || other.relations == null
                    || (relations.session() == 0 && other.relations.session() == 0)) {
                return Ternary.UNKNOWN;
            }
            return Ternary.of(relations.session() == other.relations.session());
        }

        boolean leadsSession() {
            return relations != null && relations.session() == pid();
        }
    }

    /**
     * The environ of a program.
     *
     * @param addresses where it is; null if that is unknown, or if it moved while it was read
     */
    record ProgramEnviron(Content content, @Nullable Addresses addresses) {
        private static final Membership.Unknown NOT_AVAILABLE =
                new Membership.Unknown("its environ is not available at this moment");
        static final ProgramEnviron UID_UNKNOWN = unavailable(new Membership.Unknown("its real uid cannot be read"));

        /** What an environ says about the membership. */
        public sealed interface Content {
            /** It is as execve(2) wrote it, and names this environment or none. */
            record Intact(Membership named) implements Content {}

            /** The kernel shows where it is, and the program wrote into it or moved it: it says nothing, whatever it contains. */
            record Overwritten() implements Content {}

            record Unavailable(Membership.Unknown reason) implements Content {}
        }

        public static ProgramEnviron unavailable(Membership.Unknown reason) {
            return new ProgramEnviron(new Content.Unavailable(reason), null);
        }

        /** Returns the environ of a process by the stats of its first thread before and after the environ was read. */
        public static ProgramEnviron of(EnvironFacts environ, ProcStat before, ProcStat after) {
            if (environ.thread() == null) {
                return ofThread(environ, before, after);
            }
            var first = ProcStat.tryParse(environ.thread().before().array());
            var last = ProcStat.tryParse(environ.thread().after().array());
            return first.isPresent() && last.isPresent()
                    ? ofThread(environ, first.get(), last.get())
                    : unavailable(unreadable("the stat of its thread has an unknown form"));
        }

        /** Without addresses, nothing shows whether the program wrote into it: the service may lack a privilege for this process. */
        private static ProgramEnviron ofThread(EnvironFacts environ, ProcStat before, ProcStat after) {
            if (before.addresses() == null || after.addresses() == null) {
                return unavailable(environ.size() == 0 ? NOT_AVAILABLE : Membership.NOT_PERMITTED);
            }
            var content = environ.wellFormed() && before.isEnvironInPlace(after, environ.size())
                    ? new Content.Intact(Environ.named(environ.id().array(), environ.digest()))
                    : new Content.Overwritten();
            return new ProgramEnviron(content, before.addresses().equals(after.addresses()) ? after.addresses() : null);
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
            return addresses != null && addresses.equals(other.addresses);
        }
    }
}
