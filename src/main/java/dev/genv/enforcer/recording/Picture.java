package dev.genv.enforcer.recording;

import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.genv.BoundedOutput;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.Unlisted;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.observation.Observation.MachineStatus;
import dev.genv.enforcer.observation.membership.Listings;
import dev.genv.enforcer.store.RecordJson;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.zip.DataFormatException;
import org.jspecify.annotations.Nullable;

/**
 * What is recorded of the observation of a host: everything on which rules decide.
 *
 * @param machine the identity of the machine and of its boot; null if unknown
 * @param ticks when the state was read, in clock ticks since boot; 0 if the host did not answer
 */
public record Picture(Snapshot snapshot, @Nullable String machine, long ticks) {
    /** Returns the picture of an observation. Small changes of memory since the last recorded picture are left out. */
    static Picture of(HostReport report, @Nullable Picture last) {
        var recorded = last == null
                ? Map.<ProcessId, GpuProcess>of()
                : last.snapshot.processes().stream()
                        .collect(Collectors.toMap(GpuProcess::id, process -> process, (first, _) -> first));
        var now = MemoryGranularity.apply(report.snapshot(), recorded);
        var holders = now.unlisted().holders().stream()
                .map(holder -> new Unlisted.Holder(holder.process().withoutWorkload(), holder.since(), holder.used()))
                .toList();
        var snapshot = new Snapshot(
                now.host(),
                now.processes().stream().map(GpuProcess::withoutWorkload).toList(),
                new Unlisted(Map.of(), holders),
                now.environments(),
                now.devices(),
                now.listedDevices(),
                now.uidsOfPids(),
                now.subordinateUids(),
                now.missing(),
                List.of());
        return new Picture(snapshot, report.machine(), report.ticks());
    }

    /** Whether another picture shows the same; the clock ticks differ always. */
    boolean isSame(Picture other) {
        return snapshot.equals(other.snapshot) && Objects.equals(machine, other.machine);
    }

    /** Returns the JSON; empty if it is too large to be recorded. */
    Optional<byte[]> write() {
        var out = new BoundedOutput(PictureCodec.LARGEST);
        try {
            RecordJson.write(out, this);
            return Optional.of(out.toByteArray());
        } catch (BoundedOutput.FullException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw new UncheckedIOException(e); // nothing else fails in memory
        }
    }

    static Picture read(byte[] json) throws DataFormatException {
        return RecordJson.read(json, Picture.class)
                .orElseThrow(() -> new DataFormatException("it is no picture of this version"));
    }

    /** Returns the observation again, of another snapshot and at another time. */
    HostReport report(Snapshot other, long ticks) {
        return this.ticks == 0
                ? HostReport.unreachable(other, null, Duration.ZERO)
                : HostReport.observed(
                        new Observation(
                                other,
                                null,
                                ticks,
                                Set.of(),
                                List.of(),
                                null,
                                machine,
                                null,
                                Listings.NONE,
                                Accounts.NONE,
                                MachineStatus.UNKNOWN),
                        Instant.EPOCH,
                        Duration.ZERO);
    }
}
