package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.policy.Words;
import java.time.Instant;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The best that the state ever said of one environment, and what became of it. */
final class EnvironmentTestimony {
    private final Ticker ticker;

    /** Since when each device that was ever attached, and not detached by us, is not; null while it is. */
    private final Map<Integer, Optional<Instant>> attachments = new HashMap<>();

    private @Nullable Instant died;
    private @Nullable Long diedAt;

    /** The ticks of the last look in which it was not there yet; null where there was none. */
    private @Nullable Long absentAt;

    /** The ticks of the first look in which it was there. */
    private long presentAt;

    /** The real uids of the pids that it ever had since: who was of it once does not become a stranger. */
    private final Set<Long> uids = new HashSet<>();

    private @Nullable Environment latest;
    private @Nullable Environment roomiest;
    private @Nullable Instant lowered;
    private @Nullable Environment firsts;
    private @Nullable Instant handedOver;

    EnvironmentTestimony(Ticker ticker) {
        this.ticker = ticker;
    }

    /**
     * Takes in what the state says.
     *
     * @param holders the environments that hold each device
     * @param before the ticks of the look before; null in the first one
     * @param ticks those of this one
     */
    void hear(Environment environment, Map<Integer, Set<String>> holders, @Nullable Long before, long ticks) {
        if (latest == null || (died != null && isOfOthers(environment, latest))) {
            absentAt = before;
            presentAt = ticks;
            uids.clear();
        }
        uids.addAll(environment.ownership().uids());
        died = null;
        diedAt = null;
        latest = environment;
        holders.forEach((device, eids) -> hearAttachment(device, eids.contains(environment.eid())));
        hearCapacity(environment);
        hearOwner(environment);
    }

    void died() {
        if (died == null) {
            died = ticker.now();
            diedAt = ticker.mark();
        }
    }

    void detached(int device) {
        attachments.remove(device);
    }

    /** When it died, by the ticker's mark; null while it lives. */
    @Nullable
    Long deadSince() {
        return diedAt;
    }

    /** That it is not there any more. */
    @Nullable
    Change death() {
        return died == null ? null : new Change("the environment was active", "it is not", died);
    }

    /** That it came when the process was there already: somebody may have written it for that. */
    @Nullable
    Change arrival(@Nullable GpuProcess process) {
        return process != null && absentAt != null && process.id().startTime() < absentAt
                ? new Change("the environment was not active when the process was started", "it is", ticker.now())
                : null;
    }

    /**
     * A process of a user who has no part in the environment, and who was there before we saw that: no entry of one user
     * may make a process of another a victim. One that came later named it knowingly.
     */
    Optional<String> captured(GpuProcess process) {
        return latest != null
                        && died == null
                        && !latest.isOf(process.uid())
                        && !uids.contains(process.uid())
                        && process.id().startTime() < presentAt
                ? Optional.of("environment %s is of others, and was not seen before this process of uid %s was started"
                        .formatted(Words.safe(latest.eid()), process.uid()))
                : Optional.empty();
    }

    /** That these devices were attached; null where one of them never was: using that is wrong in any case. */
    @Nullable
    Change vanished(List<Integer> devices) {
        if (devices.isEmpty() || !attachments.keySet().containsAll(devices)) {
            return null;
        }
        var since = devices.stream()
                .flatMap(device -> attachments.getOrDefault(device, Optional.empty()).stream())
                .min(Comparator.naturalOrder());
        var which = "device(s) " + devices.toString().replaceAll("[\\[\\] ]", "");
        return new Change("attached to " + which, "not attached to " + which, since.orElseGet(ticker::now));
    }

    /** That the capacity was larger; null where what is used is too much for that as well. */
    @Nullable
    Change lowered(Violation cause) {
        if (lowered == null || roomiest == null || latest == null) {
            return null;
        }
        var used = cause.devices().stream()
                .map(device -> used(cause.processes(), device))
                .max(Comparator.naturalOrder())
                .orElse(Memory.ZERO);
        var fitted = roomiest.capacity()
                .map(capacity -> used.compareTo(capacity) <= 0)
                .orElse(true);
        return fitted
                ? new Change("memory capacity " + capacity(roomiest), "memory capacity " + capacity(latest), lowered)
                : null;
    }

    /** That it was another user's. */
    @Nullable
    Change changedHands() {
        return handedOver == null || firsts == null || latest == null
                ? null
                : new Change(owner(firsts), owner(latest), handedOver);
    }

    private void hearAttachment(int device, boolean isAttached) {
        if (isAttached) {
            attachments.put(device, Optional.empty());
        } else {
            attachments.computeIfPresent(device, (_, since) -> since.or(() -> Optional.of(ticker.now())));
        }
    }

    private void hearCapacity(Environment now) {
        if (roomiest == null || !isLess(now.capacity(), roomiest.capacity())) {
            roomiest = now;
            lowered = null;
        } else if (lowered == null) {
            lowered = ticker.now();
        }
    }

    private void hearOwner(Environment now) {
        if (firsts == null || owner(firsts).equals(owner(now))) {
            firsts = now;
            handedOver = null;
        } else if (handedOver == null) {
            handedOver = ticker.now();
        }
    }

    /** Whether nobody of those whose it was has a part in it now: another environment by the same id. */
    private static boolean isOfOthers(Environment now, Environment before) {
        return !now.ownership().uids().isEmpty()
                && !before.ownership().uids().isEmpty()
                && Collections.disjoint(
                        now.ownership().uids(), before.ownership().uids());
    }

    private static boolean isLess(Optional<Memory> one, Optional<Memory> other) {
        return one.isPresent() && (other.isEmpty() || one.get().compareTo(other.get()) < 0);
    }

    private static Memory used(List<GpuProcess> processes, int device) {
        return processes.stream()
                .map(process -> Objects.requireNonNullElse(process.memoryOn(device), Memory.ZERO))
                .reduce(Memory.ZERO, Memory::plus);
    }

    private static String capacity(Environment environment) {
        var text = environment.config().gpuMemory();
        return text == null ? "none" : Words.safe(text);
    }

    private static String owner(Environment environment) {
        var name = environment.username();
        return "user %s of uid %s".formatted(name == null ? "N/A" : Words.safe(name), environment.uid());
    }
}
