package dev.genv.enforcer.enforcement.history;

import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.Snapshot;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** When users began to hold devices in a recorded past, as {@link History} knows it of the observed one. */
public final class RecordedAppearances {
    private final boolean trustsRecordedTimes;
    private final Map<String, Claims> hosts = new HashMap<>();
    private long cycle;

    /**
     * Begins before the first cycle.
     *
     * @param trustsRecordedTimes see {@link Appearances#trustsRecordedTimes}
     */
    public RecordedAppearances(boolean trustsRecordedTimes) {
        this.trustsRecordedTimes = trustsRecordedTimes;
    }

    /** Records the hosts of the next cycle; only cycles in which what users hold has changed are necessary. */
    public Appearances record(Collection<Snapshot> snapshots) {
        cycle++;
        var since = new HashMap<Appearances.Key, Long>();
        for (var snapshot : snapshots) {
            var claims = hosts.getOrDefault(snapshot.host(), Claims.EMPTY)
                    .next(snapshot, null, new Claims.Moment(0, cycle)); // no process is compared with a claim
            hosts.put(snapshot.host(), claims);
            since.putAll(claims.appearances(snapshot));
        }
        hosts.keySet().retainAll(snapshots.stream().map(Snapshot::host).collect(Collectors.toSet()));
        return new Appearances(since, trustsRecordedTimes);
    }
}
