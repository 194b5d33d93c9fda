package dev.genv.enforcer.telemetry.genv;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;

/** Limits the series whose number users determine. The rest of a host is left out and counted. */
final class SeriesLimit {
    /** Enough for 8 devices with 40 processes each. */
    static final int MOST_OF_HOST = 1000;

    /** Of all hosts together; each host may have the same share. */
    static final int MOST = 30_000;

    private SeriesLimit() {}

    /**
     * What is exported.
     *
     * @param omitted the number of series that are left out
     */
    record Kept(List<Series> series, int omitted) {}

    static int ofEachHost(int hosts) {
        return Math.min(MOST_OF_HOST, MOST / Math.max(1, hosts));
    }

    /**
     * Keeps the first groups that fit, each of them whole. A series that another one equals after its labels were shortened is left out
     * too.
     */
    static Kept keep(List<List<Series>> groups, int limit) {
        var kept = new ArrayList<Series>();
        var seen = new HashSet<Series.Identity>();
        var omitted = 0;
        for (var group : groups) {
            var isNew = group.stream().map(Series::identity).noneMatch(seen::contains);
            if (isNew && kept.size() + group.size() <= limit) {
                group.stream().map(Series::identity).forEach(seen::add);
                kept.addAll(group);
            } else {
                omitted += group.size();
            }
        }
        return new Kept(kept, omitted);
    }
}
