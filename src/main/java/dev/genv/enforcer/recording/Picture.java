package dev.genv.enforcer.recording;

import dev.genv.enforcer.genv.BoundedOutput;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.model.Snapshot.Unexplained;
import dev.genv.enforcer.policy.MemoryVictims.MemoryShare;
import dev.genv.enforcer.store.RecordJson;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;
import org.jspecify.annotations.Nullable;

/**
 * What is recorded of the observation of a host: everything on which rules decide.
 *
 * @param snapshot without the details of the host and the problems
 * @param machine the identity of the machine and of its boot; null if unknown
 * @param ticks when the state was read, in clock ticks since boot; 0 if the host did not answer
 */
public record Picture(Snapshot snapshot, @Nullable String machine, long ticks) {
    /** Returns the picture of an observation. Small changes of memory since the last recorded picture are left out. */
    static Picture of(Snapshot observed, @Nullable Picture last) {
        var recorded = last == null
                ? Map.<ProcessId, GpuProcess>of()
                : last.snapshot.processes().stream()
                        .collect(Collectors.toMap(GpuProcess::id, process -> process, (first, _) -> first));
        var now = MemoryGranularity.apply(observed, recorded);
        var snapshot = new Snapshot(
                now.host(),
                now.processes().stream().map(GpuProcess::withoutWorkload).toList(),
                Unexplained.NONE,
                now.environments(),
                now.devices(),
                now.listedDevices(),
                now.missing(),
                List.of(),
                HostDetails.NONE);
        return new Picture(
                snapshot, observed.details().machine(), observed.details().ticks());
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
    Snapshot observed(Snapshot other, long at) {
        return ticks == 0 ? other : other.with(HostDetails.reached(machine, at));
    }

    /**
     * Compresses a picture with the help of an earlier one. Deflate looks back at most 32 KiB, so a large picture is compressed in blocks, each
     * with the part of the earlier one that surrounds its position.
     */
    static final class PictureCodec {
        /** The largest picture in bytes. A host with 3,000 processes takes less. */
        static final int LARGEST = 1 << 20;
        /** The earlier picture of a picture that needs none. */
        static final byte[] NONE = {};

        private static final int BLOCK = 16 << 10;
        private static final int BEFORE = 8 << 10;
        private static final int AFTER = 24 << 10;

        private PictureCodec() {}

        static byte[] deflate(byte[] picture, byte[] earlier) {
            var out = new ByteArrayOutputStream();
            var buffer = new byte[BLOCK];
            var deflater = new Deflater(Deflater.BEST_COMPRESSION, true);
            try {
                for (var begin = 0; begin < picture.length; begin += BLOCK) {
                    deflater.reset();
                    var from = from(begin, earlier);
                    deflater.setDictionary(earlier, from, to(begin, earlier) - from);
                    deflater.setInput(picture, begin, Math.min(BLOCK, picture.length - begin));
                    deflater.finish();
                    while (!deflater.finished()) {
                        out.write(buffer, 0, deflater.deflate(buffer));
                    }
                }
            } finally {
                deflater.end();
            }
            return out.toByteArray();
        }

        static byte[] inflate(byte[] data, byte[] earlier) throws DataFormatException {
            var out = new ByteArrayOutputStream();
            var buffer = new byte[BLOCK];
            var inflater = new Inflater(true);
            try {
                for (int begin = 0, used = 0; used < data.length; begin += BLOCK) {
                    inflater.reset();
                    var from = from(begin, earlier);
                    inflater.setDictionary(earlier, from, to(begin, earlier) - from);
                    inflater.setInput(data, used, data.length - used);
                    while (!inflater.finished()) {
                        var count = inflater.inflate(buffer);
                        if ((count == 0 && !inflater.finished()) || out.size() > LARGEST) {
                            throw new DataFormatException("it is cut off or too large");
                        }
                        out.write(buffer, 0, count);
                    }
                    used = data.length - inflater.getRemaining();
                }
            } finally {
                inflater.end();
            }
            return out.toByteArray();
        }

        private static int from(int begin, byte[] earlier) {
            return Math.clamp(begin - BEFORE, 0, earlier.length);
        }

        private static int to(int begin, byte[] earlier) {
            return Math.min(begin + AFTER, earlier.length);
        }
    }

    /**
     * Leaves out small changes of used memory, because nearly every process changes a little in every cycle. The memory of an environment
     * that exceeds its capacity is exact, so that a rule decides about the recorded memory as about the observed one.
     */
    public static final class MemoryGranularity {
        /** A change of at most this many bytes is left out. */
        static final long SMALL_CHANGE = 64L << 20;
        /** So is a change of at most this share of the recorded memory. */
        static final int SMALL_SHARE = 10;

        private MemoryGranularity() {}

        /** The memory of a process on a device. */
        private record Use(ProcessId process, int device) {}

        /** Returns the snapshot with the recorded memory where it changed only a little. */
        public static Snapshot apply(Snapshot now, Map<ProcessId, GpuProcess> recorded) {
            var coarse = now.withProcesses(now.processes().stream()
                    .map(process -> coarse(process, recorded.get(process.id()), Set.of()))
                    .toList());
            var exact = exceeding(now);
            exact.addAll(exceeding(coarse));
            if (exact.isEmpty()) {
                return coarse;
            }
            return now.withProcesses(now.processes().stream()
                    .map(process -> coarse(process, recorded.get(process.id()), exact))
                    .toList());
        }

        private static Set<Use> exceeding(Snapshot snapshot) {
            var uses = new HashSet<Use>();
            for (var share : MemoryShare.of(snapshot)) {
                if (share.isExceeded()) {
                    share.uses().forEach(use -> uses.add(new Use(use.process().id(), share.device())));
                }
            }
            return uses;
        }

        private static GpuProcess coarse(GpuProcess now, @Nullable GpuProcess recorded, Set<Use> exact) {
            if (recorded == null || recorded.usage().equals(now.usage())) {
                return now;
            }
            return now.withUsage(now.usage().stream()
                    .map(use -> exact.contains(new Use(now.id(), use.device())) ? use : coarse(use, recorded))
                    .toList());
        }

        private static DeviceUsage coarse(DeviceUsage now, GpuProcess recorded) {
            var before = recorded.uses(now.device()) ? recorded.memoryOn(now.device()) : null;
            return isSmallChange(before, now.memory()) ? new DeviceUsage(now.device(), before) : now;
        }

        private static boolean isSmallChange(@Nullable Memory before, @Nullable Memory now) {
            return before != null
                    && now != null
                    && Math.abs(now.bytes() - before.bytes()) <= Math.max(SMALL_CHANGE, before.bytes() / SMALL_SHARE);
        }
    }
}
