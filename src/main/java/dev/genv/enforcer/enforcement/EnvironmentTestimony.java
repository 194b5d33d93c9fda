package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.policy.Violation;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** What the state said of one environment before. */
final class EnvironmentTestimony {
    private final Ticker ticker;
    private final AttachmentTestimony attachments;
    private Testimony.@Nullable Seen death;
    private @Nullable Environment latest;

    /** The environment as it was before its capacity was lowered, or its owner changed. */
    private @Nullable Environment roomier;

    private Testimony.@Nullable Seen lowering;
    private @Nullable Environment formers;
    private Testimony.@Nullable Seen handover;

    EnvironmentTestimony(Ticker ticker) {
        this.ticker = ticker;
        this.attachments = new AttachmentTestimony(ticker);
    }

    /** Takes in what the state says, with the holders of each device that it describes. */
    void hear(Environment environment, Map<Integer, Set<String>> holders) {
        death = null;
        holders.forEach((device, eids) -> attachments.hear(device, eids.contains(environment.eid())));
        var before = latest;
        if (before != null) {
            hearCapacity(before, environment);
            hearOwner(before, environment);
        }
        latest = environment;
    }

    void died() {
        if (death == null) {
            death = Testimony.Seen.now(ticker, "the environment was active", "it is not");
        }
    }

    void detached(int device) {
        attachments.detached(device);
    }

    void forget(Predicate<Testimony.Seen> isOld) {
        attachments.forget(isOld);
        if (lowering != null && isOld.test(lowering)) {
            lowering = null;
            roomier = null;
        }
        if (handover != null && isOld.test(handover)) {
            handover = null;
            formers = null;
        }
    }

    Testimony.@Nullable Seen death() {
        return death;
    }

    Testimony.@Nullable Seen vanished(List<Integer> devices) {
        return attachments.vanished(devices);
    }

    /** Null where what is used is too much for the old capacity too. */
    Testimony.@Nullable Seen lowered(Violation cause) {
        var before = roomier;
        if (lowering == null || before == null) {
            return null;
        }
        var used = cause.devices().stream()
                .map(device -> used(cause.processes(), device))
                .max(Comparator.naturalOrder())
                .orElse(Memory.ZERO);
        var fitted =
                before.capacity().map(capacity -> used.compareTo(capacity) <= 0).orElse(true);
        return fitted ? lowering : null;
    }

    Testimony.@Nullable Seen changedHands() {
        return handover;
    }

    /** What was before the first of several changes counts, or whoever makes them would cut the time short. */
    private void hearCapacity(Environment before, Environment after) {
        var reference = roomier == null ? before : roomier;
        if (isLess(after.capacity(), reference.capacity())) {
            if (lowering == null) {
                roomier = before;
                lowering = Testimony.Seen.now(
                        ticker, "memory capacity " + capacity(before), "memory capacity " + capacity(after));
            }
        } else {
            roomier = null;
            lowering = null;
        }
    }

    private void hearOwner(Environment before, Environment after) {
        var reference = formers == null ? before : formers;
        if (!owner(after).equals(owner(reference))) {
            if (handover == null) {
                formers = before;
                handover = Testimony.Seen.now(ticker, owner(before), owner(after));
            }
        } else {
            formers = null;
            handover = null;
        }
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
        return text == null ? "none" : text;
    }

    private static String owner(Environment environment) {
        return "user %s of uid %s".formatted(environment.username(), environment.uid());
    }
}
