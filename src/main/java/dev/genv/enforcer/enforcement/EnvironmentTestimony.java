package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.policy.Words;
import java.time.Instant;
import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The best that the state ever said of one environment, and what became of it. Users choose how much they write there, so only
 * what is needed is kept, and no text of theirs at full length.
 */
final class EnvironmentTestimony {
    private static final int MOST_PIDS = 8;
    private static final int MOST_UIDS = 64;
    private static final long BYTES = 1024;

    private final Ticker ticker;
    private final String label;
    private final AttachmentHistory attachments;
    private final OwnerHistory owner;
    private final CapacityHistory capacity;

    private @Nullable Instant died;
    private @Nullable Long diedAt;

    /** The ticks of the last observation before it appeared, or before all its pids were replaced; null where there is none. */
    private @Nullable Long youngerThan;

    /** The ticks of the last observation in which it was absent; null where there is none. */
    private @Nullable Long absentAt;

    /** The ticks of the first look in which it was there; null before that. */
    private @Nullable Long presentAt;

    /** The same since its last absence, also where the same pids came back: another user may have written it anew. */
    private @Nullable Long appearedAt;

    /** Some of the live pids of the last look: an environment of which one is still alive has not ended meanwhile. */
    private Set<Integer> pids = Set.of();

    /** Since when the kernel knows its shell; null where it does not. */
    private @Nullable Long shellStart;

    /** The real uids of the pids that it ever had since: who was of it once does not become a stranger. */
    private final Set<Long> uids = new HashSet<>();

    /** Those of the last look, and the uid that was written down then. */
    private Set<Long> latestUids = Set.of();

    private @Nullable Long recordedUid;
    /**
     * One look at the state.
     *
     * @param holders the environments that hold each device
     * @param before the ticks of the look before; null in the first one
     * @param ticks those of this one
     * @param attachmentsAreNew whether the attachments could not be read before
     * @param moment when it was made
     */
    record Observation(
            Map<Integer, Set<String>> holders,
            @Nullable Long before,
            long ticks,
            boolean attachmentsAreNew,
            ObservedTime.Moment moment) {}

    EnvironmentTestimony(String eid, Ticker ticker) {
        this.ticker = ticker;
        label = Words.safe(eid);
        attachments = new AttachmentHistory(ticker);
        owner = new OwnerHistory(ticker);
        capacity = new CapacityHistory(ticker);
    }

    void hear(Environment environment, Observation now) {
        var nowUids = environment.ownership().uids();
        var isOther = presentAt == null || !goesOn(environment);
        if (isOther) {
            if (died != null && isOfOthers(nowUids)) {
                uids.clear();
            }
            presentAt = now.ticks;
            attachments.environmentAppeared();
        }
        if (appearedAt == null || died != null) {
            absentAt = now.before;
        }
        if (isOther || died != null) {
            youngerThan = now.before;
            appearedAt = now.ticks;
        }
        nowUids.stream().limit(MOST_UIDS - (long) uids.size()).forEach(uids::add);
        latestUids = nowUids;
        recordedUid = environment.uid();
        pids = Set.copyOf(environment.pids().stream().limit(MOST_PIDS).toList());
        shellStart = environment.ownership().shellStart();
        died = null;
        diedAt = null;
        var appearance = now.attachmentsAreNew ? null : now.moment;
        now.holders.forEach((device, eids) -> attachments.record(device, eids.contains(environment.eid()), appearance));
        owner.record(environment, now.before == null, now.moment);
        capacity.record(environment);
    }

    void died() {
        if (died == null) {
            died = ticker.now();
            diedAt = ticker.mark();
            latestUids = Set.copyOf(latestUids.stream().limit(MOST_UIDS).toList());
        }
    }

    void detached(int device) {
        attachments.detached(device);
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

    /** How people are told of it. */
    String label() {
        return label;
    }

    /** When it died, by the ticker's mark; null while it lives. */
    @Nullable
    Long deadSince() {
        return diedAt;
    }

    /** Whether it was there before the service could see it come. */
    boolean isOlderThan(ObservedTime observed) {
        return presentAt == null || observed.isInFirst(presentAt);
    }

    /** That it is not there any more. */
    @Nullable
    Change death() {
        return died == null ? null : new Change("the environment was active", "it is not", died);
    }

    /** That it came when the process was there already: somebody may have written it for that. */
    @Nullable
    Change arrival(@Nullable GpuProcess process) {
        return process != null && isYoungerThan(process)
                ? new Change("the environment was not active when the process was started", "it is", ticker.now())
                : null;
    }

    /**
     * Why a process cannot have been in it when it was started, whatever the state says now: no entry that a user writes
     * afterwards may make it a victim. A process that was started later named the environment knowingly.
     */
    Optional<String> captured(GpuProcess process) {
        if (died != null || isProvenOlderThan(process)) {
            return Optional.empty();
        }
        if (!isOf(process.uid()) && !wasOf(process.uid()) && isBefore(process, appearedAt)) {
            return Optional.of("environment %s is of others, and was not seen before this process of uid %s was started"
                    .formatted(label, process.uid()));
        }
        return isYoungerThan(process)
                ? Optional.of("environment %s was not active when this process was started, and appeared later"
                        .formatted(label))
                : Optional.empty();
    }

    /** Whether a live pid of it ever was of this uid. */
    boolean wasOf(@Nullable Long uid) {
        return uid != null && uids.contains(uid);
    }

    /** About how many bytes it takes. */
    long bytes() {
        return BYTES + 64L * (uids.size() + latestUids.size()) + attachments.bytes() + owner.bytes();
    }

    /**
     * Whether it is still the one of the last look. Where its pids are not known, it is if nobody saw it end. Its user may
     * replace its pids by others of his own: he must not shield older processes by that.
     */
    private boolean goesOn(Environment now) {
        return !Collections.disjoint(pids, now.pids())
                || (died == null && (pids.isEmpty() || now.pids().isEmpty() || isOfTheSameUid(now)));
    }

    private boolean isOfTheSameUid(Environment now) {
        return now.uid() != null
                && now.uid().equals(recordedUid)
                && now.ownership().uids().equals(Set.of(now.uid()));
    }

    /** Whether the service saw that it was not there yet when the process was. */
    private boolean isYoungerThan(GpuProcess process) {
        return isBefore(process, youngerThan) && !isProvenOlderThan(process);
    }

    /** A shell outlives its environment: it proves nothing where the environment was absent while the process ran. */
    private boolean isProvenOlderThan(GpuProcess process) {
        return shellStart != null && shellStart <= process.id().startTime() && !isBefore(process, absentAt);
    }

    private static boolean isBefore(GpuProcess process, @Nullable Long ticks) {
        return ticks != null && process.id().startTime() < ticks;
    }

    /** Whether nobody of those whose it was has a part in it now: another environment by the same id. */
    private boolean isOfOthers(Set<Long> now) {
        return !now.isEmpty() && !latestUids.isEmpty() && Collections.disjoint(now, latestUids);
    }

    private boolean isOf(@Nullable Long uid) {
        return uid == null || (latestUids.isEmpty() ? uid.equals(recordedUid) : latestUids.contains(uid));
    }
}
