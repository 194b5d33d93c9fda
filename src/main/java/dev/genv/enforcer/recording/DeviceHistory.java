package dev.genv.enforcer.recording;

import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.HostDevice;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What each device did in the last hour, and since when it is idle or free. It is in memory, so a restart forgets it. */
@Singleton
public class DeviceHistory implements CycleListener {
    static final int MINUTES = 60;
    private static final long MINUTE = Duration.ofMinutes(1).toNanos();

    private final Ticker ticker;
    private final Map<String, Map<Integer, Line>> hosts = new HashMap<>();

    /**
     * What is known of a device.
     *
     * @param utilization the last sample of each of at most 60 minutes in percent, oldest first; null if a minute has none
     * @param idleSince since when the device is attached and computes nothing; null if it is not, or if that is unknown
     * @param freeSince since when it is neither attached nor used; null if it is, or if that is unknown
     */
    public record Recent(
            List<@Nullable Integer> utilization,
            @Nullable Instant idleSince,
            @Nullable Instant freeSince) {
        static final Recent UNKNOWN = new Recent(List.of(), null, null);
    }

    private static final class Line {
        /** The last sample of each minute; a minute without one is missing. */
        private final TreeMap<Long, Integer> percent = new TreeMap<>();

        private final long first;
        private long last;
        private @Nullable Instant attached;
        private @Nullable Instant unattached;
        private @Nullable Instant idleSince;
        private @Nullable Instant freeSince;

        Line(long minute) {
            first = minute;
            last = minute;
        }

        void add(long minute, @Nullable Integer sample) {
            last = minute;
            if (sample != null) {
                percent.put(minute, sample);
            }
            percent.headMap(minute - MINUTES, true).clear();
        }

        /** After a restart, time in which a device was attached and unused, or the reverse, counts for its present state too. */
        void remember(Fleet fleet, Snapshot snapshot, int index, @Nullable Device device) {
            idleSince = null;
            freeSince = null;
            if (device == null || !snapshot.has(SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS)) {
                return;
            }
            var its = new HostDevice(snapshot.host(), index);
            if (device.attachments().isEmpty()) {
                unattached = before(fleet, Duration.ZERO);
                freeSince = since(fleet, fleet.idleness().unused().get(its), attached);
            } else {
                attached = before(fleet, Duration.ZERO);
                idleSince = since(fleet, fleet.idleness().quiet().get(its), unattached);
            }
        }

        private static @Nullable Instant since(Fleet fleet, @Nullable Duration time, @Nullable Instant earliest) {
            var since = time == null ? null : before(fleet, time);
            return since != null && earliest != null && earliest.isAfter(since) ? earliest : since;
        }

        Recent recent() {
            var utilization = new ArrayList<@Nullable Integer>();
            for (var each = Math.max(first, last - MINUTES + 1); each <= last; each++) {
                utilization.add(percent.get(each));
            }
            return new Recent(utilization, idleSince, freeSince);
        }
    }

    public DeviceHistory(Ticker ticker) {
        this.ticker = ticker;
    }

    @Override
    public synchronized void accept(CycleReport report) {
        if (report.error() != null) {
            return;
        }
        var fleet = report.fleet();
        var minute = Math.floorDiv(ticker.mark(), MINUTE);
        hosts.keySet().removeIf(host -> fleet.host(host).isEmpty());
        for (var snapshot : fleet.snapshots()) {
            var lines = hosts.computeIfAbsent(snapshot.host(), _ -> new HashMap<>());
            var samples = snapshot.details().utilization();
            snapshot.listedDevices().forEach(index -> lines.computeIfAbsent(index, _ -> new Line(minute)));
            var devices = snapshot.devicesByIndex();
            lines.forEach((index, line) -> {
                line.add(minute, samples.get(index));
                line.remember(fleet, snapshot, index, devices.get(index));
            });
        }
    }

    private static Instant before(Fleet fleet, Duration time) {
        return fleet.at().minus(time).truncatedTo(ChronoUnit.SECONDS);
    }

    public synchronized Recent of(String host, int device) {
        var line = hosts.getOrDefault(host, Map.of()).get(device);
        return line == null ? Recent.UNKNOWN : line.recent();
    }
}
