package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.report.ViolationRecord.ActionNote;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.ProcessId;
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

    /**
     * Returns the uid of the account whose the live pids of an environment are; empty if its owner is disputed, or if it is not active any
     * more.
     */
    public Optional<Long> ownerOf(ActionNote.Target attachment) {
        return fleet.host(attachment.host()).stream()
                .flatMap(machine -> machine.environments().stream()
                        .filter(environment -> environment.eid().equals(attachment.environment()))
                        .flatMap(environment -> environment.shownOwner().stream()))
                .findFirst();
    }

    /** Returns the names of the accounts of a uid on these machines. If there are several, the message could reach another person. */
    public Set<String> namesOf(Collection<String> hosts, long uid) {
        return hosts.stream()
                .flatMap(host -> fleet.host(host).stream())
                .flatMap(machine -> machine.details().accounts().namesOf(uid).stream())
                .collect(Collectors.toSet());
    }
}
