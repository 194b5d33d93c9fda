package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Ternary;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** The users of the machines as the last cycle read them from passwd(5) and subuid(5), which only root can write. */
public final class UserDirectory {
    private static final long MILLIS_PER_TICK = 10;

    private final boolean inAudit;
    private volatile Fleet fleet = new Fleet(List.of(), true);

    /** @param inAudit whether users are informed of violations on which the service does not act */
    public UserDirectory(boolean inAudit) {
        this.inAudit = inAudit;
    }

    boolean inAudit() {
        return inAudit;
    }

    /** Replaces everything that is known. */
    public void update(Fleet observed) {
        fleet = observed;
    }

    /** Returns when a process was started, by the wall clock of the service; empty if its host did not answer in the last cycle. */
    public Optional<Instant> startOf(String host, ProcessId process) {
        var present = fleet;
        return present.host(host)
                .map(machine -> machine.details().ticks() - process.startTime())
                .filter(age -> age >= 0)
                .map(age -> present.at().minusMillis(age * MILLIS_PER_TICK));
    }

    /** Returns the uid of the account that owns a uid on the machine: a subordinate uid is its account's. */
    public long ownerOf(String host, long uid) {
        return fleet.host(host)
                .map(machine -> machine.subordinateUids().ownerOf(uid))
                .orElse(uid);
    }

    /**
     * Returns the real uids of the live pids of an environment, which are facts of the kernel; none if its owner is disputed, or if it is
     * not active any more.
     */
    public Set<Long> ownersOf(ActionNote.Target attachment) {
        return fleet.host(attachment.host()).stream()
                .flatMap(machine -> machine.environments().stream())
                .filter(environment -> environment.eid().equals(attachment.environment()))
                .map(Environment::ownership)
                .filter(ownership -> !ownership.isDisputed())
                .flatMap(ownership -> ownership.uids().stream())
                .collect(Collectors.toUnmodifiableSet());
    }

    /**
     * Whether the uid of a process stands for a person on these machines. In a container of root, or if that is unknown, only a subordinate
     * uid shows whose process it is.
     */
    public boolean isPerson(Collection<String> hosts, GpuProcess process) {
        var uid = process.uid();
        if (uid == null || process.inContainerOfRoot() == Ternary.NO) {
            return uid != null;
        }
        return hosts.stream().anyMatch(host -> ownerOf(host, uid) != uid);
    }

    /** Returns the names of the accounts that own a uid on these machines. If there are several, the message could reach another person. */
    public Set<String> namesOf(Collection<String> hosts, long uid) {
        return hosts.stream()
                .flatMap(host -> fleet.host(host).stream())
                .flatMap(machine -> machine.details().accounts().namesOf(ownerOf(machine.host(), uid)).stream())
                .collect(Collectors.toSet());
    }
}
