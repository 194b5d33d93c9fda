package dev.genv.enforcer.recording;

import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.Fleet.Idleness.HostDevice;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
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
     * @param idleSince since when the device is attached and unused; null if it is not, or if that is unknown
     * @param freeSince since when it is neither attached nor used; null if it is, or if that is unknown
     */
    public record Recent(
            List<@Nullable Integer> utilization,
            @Nullable Instant idleSince,
            @Nullable Instant freeSince) {
        static final Recent UNKNOWN = new Recent(List.of(), null, null);
    }

    private static final class Line {
        private static final byte UNKNOWN = -1;
        private final byte[] percent = new byte[MINUTES];
        private final long first;
        private long last;
        private @Nullable Instant attached;
        private @Nullable Instant idleSince;
        private @Nullable Instant freeSince;

        Line(long minute) {
            first = minute;
            last = minute - 1;
        }

        void add(long minute, @Nullable Integer sample) {
            for (var each = Math.max(last + 1, minute - MINUTES + 1); each <= minute; each++) {
                percent[Math.floorMod(each, MINUTES)] = UNKNOWN;
            }
            last = minute;
            if (sample != null) {
                percent[Math.floorMod(minute, MINUTES)] = sample.byteValue();
            }
        }

        /** After a restart, time in which a free device was attached and unused counts as free too. */
        void record(Fleet fleet, Snapshot snapshot, int index, @Nullable Device device) {
            idleSince = null;
            freeSince = null;
            if (device == null || !snapshot.has(SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS)) {
                return;
            }
            if (device.attachments().isEmpty()) {
                var unused = fleet.idleness().unused().get(new HostDevice(snapshot.host(), index));
                var since = unused == null ? null : before(fleet, unused);
                freeSince = since != null && attached != null && attached.isAfter(since) ? attached : since;
            } else {
                attached = before(fleet, Duration.ZERO);
                idleSince = idleSince(fleet, snapshot.host(), device).orElse(null);
            }
        }

        Recent recent() {
            var utilization = new ArrayList<@Nullable Integer>();
            for (var each = Math.max(first, last - MINUTES + 1); each <= last; each++) {
                var value = percent[Math.floorMod(each, MINUTES)];
                utilization.add(value == UNKNOWN ? null : Integer.valueOf(value));
            }
            return new Recent(utilization, idleSince, freeSince);
        }
    }

    public DeviceHistory(Ticker ticker) {
        this.ticker = ticker;
    }

    @Override
    public synchronized void record(CycleReport report) {
        if (report.error() != null) {
            return;
        }
        var fleet = report.fleet();
        var minute = Math.floorDiv(ticker.mark(), MINUTE);
        hosts.keySet().removeIf(host -> fleet.host(host).isEmpty());
        for (var snapshot : fleet.snapshots()) {
            var lines = hosts.computeIfAbsent(snapshot.host(), _ -> new HashMap<>());
            var samples = new HashMap<Integer, @Nullable Integer>();
            for (var status : snapshot.details().devices()) {
                samples.put(status.index(), status.utilization());
                lines.computeIfAbsent(status.index(), _ -> new Line(minute));
            }
            var devices = snapshot.devicesByIndex();
            lines.forEach((index, line) -> {
                line.add(minute, samples.get(index));
                line.record(fleet, snapshot, index, devices.get(index));
            });
        }
    }

    /** Returns since when a device is attached and unused; empty if it is not. If it has several attachments, the oldest one counts. */
    public static Optional<Instant> idleSince(Fleet fleet, String host, Device device) {
        var idle = fleet.idleness().attachments();
        return device.attachments().stream()
                .map(attachment -> idle.get(new Appearances.Key(host, attachment.eid(), device.index())))
                .filter(Objects::nonNull)
                .max(Comparator.naturalOrder())
                .map(time -> before(fleet, time));
    }

    private static Instant before(Fleet fleet, Duration time) {
        return fleet.at().minus(time).truncatedTo(ChronoUnit.SECONDS);
    }

    public synchronized Recent of(String host, int device) {
        var line = hosts.getOrDefault(host, Map.of()).get(device);
        return line == null ? Recent.UNKNOWN : line.recent();
    }
}
