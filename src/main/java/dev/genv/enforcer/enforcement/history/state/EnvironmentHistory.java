package dev.genv.enforcer.enforcement.history.state;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.history.time.ObservedTime;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import java.time.Instant;
import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the state recorded about one environment in earlier observations. Users choose how much they write, so the history keeps
 * only what a rule needs, and no text of a user at full length.
 */
final class EnvironmentHistory {
    private static final int MAX_PIDS = 8;
    private static final int MAX_UIDS = 64;
    private static final long BYTES = 1024;

    private final Ticker ticker;
    private final String label;
    private final AttachmentHistory attachments;
    private final OwnerHistory owner;
    private final CapacityHistory capacity;

    private @Nullable Instant died;
    private @Nullable Long diedAt;

    private SavedEnvironment.Presence presence = SavedEnvironment.Presence.NONE;

    /** Some of its live pids in the last observation. If one of them is still alive, the environment has not ended in between. */
    private Set<Integer> pids = Set.of();

    /** When its shell was started, by the kernel; null if that is unknown. */
    private @Nullable Long shellStart;

    /** The real uids of all pids that it has had since. A user who once had a process in it does not become a stranger. */
    private final Set<Long> uids = new HashSet<>();

    /** The uids of the last observation, and the uid that the state recorded then. */
    private Set<Long> latestUids = Set.of();

    private @Nullable Long recordedUid;

    /**
     * One observation of the state.
     *
     * @param holders the environments that hold each device
     * @param before the ticks of the previous observation; null in the first one
     * @param ticks the ticks of this observation
     * @param attachmentsAreNew whether the attachments could not be read before
     * @param moment when it was made
     */
    record Observation(
            Map<Integer, Set<String>> holders,
            @Nullable Long before,
            long ticks,
            boolean attachmentsAreNew,
            ObservedTime.Moment moment) {}

    /**
     * Creates an empty history.
     *
     * @param label the text by which reports name it, escaped
     */
    EnvironmentHistory(String label, Ticker ticker) {
        this.ticker = ticker;
        this.label = label;
        attachments = new AttachmentHistory(ticker);
        owner = new OwnerHistory(ticker);
        capacity = new CapacityHistory(ticker);
    }

    SavedEnvironment save() {
        return new SavedEnvironment(
                label,
                attachments.save(),
                owner.save(),
                capacity.save(),
                died,
                diedAt,
                presence,
                pids,
                shellStart,
                Set.copyOf(uids),
                latestUids,
                recordedUid);
    }

    static EnvironmentHistory restore(SavedEnvironment saved, Ticker ticker) {
        var restored = new EnvironmentHistory(saved.label(), ticker);
        restored.attachments.restore(saved.attachments());
        restored.owner.restore(saved.owner());
        restored.capacity.restore(saved.capacity());
        restored.died = saved.died();
        restored.diedAt = saved.diedAt();
        restored.presence = saved.presence();
        restored.pids = Set.copyOf(saved.pids());
        restored.shellStart = saved.shellStart();
        restored.uids.addAll(saved.uids());
        restored.latestUids = Set.copyOf(saved.latestUids());
        restored.recordedUid = saved.recordedUid();
        return restored;
    }

    void record(Environment environment, Observation now) {
        var nowUids = environment.ownership().uids();
        var isOther = presence.presentAt() == null || !isSameEnvironment(environment);
        if (isOther) {
            if (died != null && belongsToOthers(nowUids)) {
                uids.clear();
            }
            attachments.environmentAppeared();
        }
        presence = presence.observed(isOther, died != null, now.before, now.ticks);
        nowUids.stream().limit(MAX_UIDS - (long) uids.size()).forEach(uids::add);
        latestUids = nowUids;
        recordedUid = environment.uid();
        pids = Set.copyOf(environment.pids().stream().limit(MAX_PIDS).toList());
        shellStart = environment.ownership().shellStart();
        died = null;
        diedAt = null;
        var appearance = now.attachmentsAreNew ? null : now.moment;
        now.holders.forEach((device, eids) -> attachments.record(device, eids.contains(environment.eid()), appearance));
        owner.record(environment, now.before == null, now.moment);
        capacity.record(environment);
    }

    void recordEnd() {
        if (died == null) {
            died = ticker.now();
            diedAt = ticker.mark();
            latestUids = Set.copyOf(latestUids.stream().limit(MAX_UIDS).toList());
        }
    }

    AttachmentHistory attachments() {
        return attachments;
    }

    OwnerHistory owner() {
        return owner;
    }

    CapacityHistory capacity() {
        return capacity;
    }

    /** When it was first seen as ended, by the ticker's mark; null while it is active. */
    @Nullable
    Long deadSince() {
        return diedAt;
    }

    /** Whether it may have existed before the service began to observe. */
    boolean isOlderThan(ObservedTime observed) {
        return presence.presentAt() == null || observed.isInFirst(presence.presentAt());
    }

    /** Returns the end of the environment. */
    @Nullable
    StateChange end() {
        return died == null ? null : new StateChange("the environment was active", "it is not", died);
    }

    /** Returns the appearance of the environment if the process is older: a user may have added it because of the process. */
    @Nullable
    StateChange addedAfterStart(@Nullable GpuProcess process) {
        return process != null && isYoungerThan(process)
                ? new StateChange("the environment was not active when the process was started", "it is", ticker.now())
                : null;
    }

    /**
     * Returns why a process cannot have been in it at its start, regardless of the present state. An entry that a user adds later
     * must not make the process break a rule. A process that was started later names the environment knowingly.
     */
    Optional<String> claimedByOthers(GpuProcess process) {
        if (died != null || isProvenOlderThan(process)) {
            return Optional.empty();
        }
        if (!hasUid(process.uid()) && !hasHadUid(process.uid()) && isBefore(process, presence.appearedAt())) {
            return Optional.of(
                    "environment %s belongs to other users, and was not observed before this process of uid %s was started"
                            .formatted(label, process.uid()));
        }
        return isYoungerThan(process)
                ? Optional.of("environment %s was not active when this process was started, and appeared later"
                        .formatted(label))
                : Optional.empty();
    }

    /** Whether a live pid of it ever had this real uid. */
    boolean hasHadUid(@Nullable Long uid) {
        return uid != null && uids.contains(uid);
    }

    /** About how many bytes it takes. */
    long bytes() {
        return BYTES + 64L * (uids.size() + latestUids.size()) + attachments.bytes() + owner.bytes();
    }

    /**
     * Whether it is still the environment of the last observation. Without known pids, it is unless its end was observed. Its user
     * may replace its pids by other pids of the same user; this does not make older processes immune.
     */
    private boolean isSameEnvironment(Environment now) {
        return !Collections.disjoint(pids, now.pids())
                || (died == null && (pids.isEmpty() || now.pids().isEmpty() || hasSameUid(now)));
    }

    private boolean hasSameUid(Environment now) {
        return now.uid() != null
                && now.uid().equals(recordedUid)
                && now.ownership().uids().equals(Set.of(now.uid()));
    }

    /** Whether the service observed that it was absent after the process had started. */
    private boolean isYoungerThan(GpuProcess process) {
        return isBefore(process, presence.youngerThan()) && !isProvenOlderThan(process);
    }

    /** A shell can outlive its environment, so it proves nothing if the environment was absent while the process ran. */
    private boolean isProvenOlderThan(GpuProcess process) {
        return shellStart != null && shellStart <= process.id().startTime() && !isBefore(process, presence.absentAt());
    }

    private static boolean isBefore(GpuProcess process, @Nullable Long ticks) {
        return ticks != null && process.id().startTime() < ticks;
    }

    /** Whether none of its earlier users has a part in it now: it is another environment with the same id. */
    private boolean belongsToOthers(Set<Long> now) {
        return !now.isEmpty() && !latestUids.isEmpty() && Collections.disjoint(now, latestUids);
    }

    private boolean hasUid(@Nullable Long uid) {
        return uid == null || (latestUids.isEmpty() ? uid.equals(recordedUid) : latestUids.contains(uid));
    }
}
