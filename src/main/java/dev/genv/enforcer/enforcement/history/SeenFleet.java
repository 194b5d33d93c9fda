package dev.genv.enforcer.enforcement.history;

import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.enforcement.host.ObservationAge;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.SubordinateUids;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/** What a cycle observed, after its state was recorded. Only {@link History} creates it, so the state is always recorded first. */
public final class SeenFleet {
    private final Observed observed;
    private final Fleet fleet;
    private final Map<String, HostReport> byName;

    /** The answers of all hosts, and when all had answered or exceeded the time limit. */
    public record Observed(List<HostReport> hosts, boolean remote, ObservationAge age, Instant at) {}

    SeenFleet(Observed observed, Fleet fleet) {
        this.observed = observed;
        this.fleet = fleet;
        byName = observed.hosts().stream().collect(Collectors.toMap(HostReport::host, Function.identity()));
    }

    public List<HostReport> hosts() {
        return observed.hosts();
    }

    public Fleet fleet() {
        return fleet;
    }

    public ObservationAge age() {
        return observed.age();
    }

    /** When all hosts had answered or exceeded the time limit. */
    public Instant at() {
        return observed.at();
    }

    /** Returns the report of a host; empty if it is not in the list. */
    public Optional<HostReport> host(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    /** The subordinate uids of each host by its name. */
    public Map<String, SubordinateUids> subordinateUids() {
        return hosts().stream()
                .collect(Collectors.toMap(
                        HostReport::host, host -> host.snapshot().subordinateUids()));
    }

    /** The verified processes that have exited. */
    public Set<HostProcess> ended() {
        return hosts().stream()
                .flatMap(host -> host.ended().stream().map(process -> new HostProcess(host.host(), process)))
                .collect(Collectors.toUnmodifiableSet());
    }
}
