package dev.genv.enforcer.model;

import dev.genv.enforcer.model.GpuProcess.Immunity;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * An active environment, as {@code envs.json} describes it. Every local user can write that file, so its content is no proof.
 *
 * @param uid the recorded uid, or for a subordinate one that of its owner; null if it is invalid
 * @param username the recorded user name; null if genv knew none
 * @param creation when it was activated, in the machine's local time, as genv wrote it
 * @param ownership what is known of its owner from other sources
 */
public record Environment(
        String eid,
        @Nullable Long uid,
        @Nullable String username,
        String creation,
        Config config,
        List<Integer> pids,
        List<String> kernelIds,
        Ownership ownership) {
    private static final Long ROOT = 0L;
    private static final Pattern PID = Pattern.compile("[1-9][0-9]{0,8}");

    public Environment {
        pids = List.copyOf(pids);
        kernelIds = List.copyOf(kernelIds);
    }

    public Environment(
            String eid,
            @Nullable Long uid,
            @Nullable String username,
            String creation,
            Config config,
            List<Integer> pids,
            List<String> kernelIds) {
        this(eid, uid, username, creation, config, pids, kernelIds, Ownership.UNDISPUTED);
    }

    /**
     * Whether a process is of a user to whom the environment cannot belong: it belongs to the recorded uid, or to the real uid of one of its
     * live pids. Root is no stranger. Unknown also if it is unknown to whom it belongs, or whose the process is, unless that can be no such
     * user.
     */
    public Ternary isStranger(GpuProcess process) {
        var users = new HashSet<>(ownership.uids);
        if (uid != null) {
            users.add(uid);
        }
        var ofRange = process.rangeOwner();
        if (ROOT.equals(process.owner()) || users.stream().anyMatch(process::isOf)) {
            return Ternary.NO;
        }
        var mayBeOf = process.owner() == null
                && (ofRange == null
                        || ofRange.equals(ROOT)
                        || users.contains(ofRange)
                        || ofRange.equals(ownership.rangeOwner));
        return process.uid() == null || users.isEmpty() || mayBeOf ? Ternary.UNKNOWN : Ternary.YES;
    }

    /** Whether the kernel proves its owner. A container of genv's toolkit records root without a name, and proves nothing. */
    public boolean isProven() {
        return !ownership.isDisputed()
                && user().isPresent()
                && uid != null
                && ownership.uids.equals(Set.of(uid))
                && ownership.areUidsKnown;
    }

    /**
     * Returns the uid of its owner if a live pid shows it, and nothing contradicts it. It is that of the account of a subordinate uid. If the
     * state has no valid uid, it is that of the live pids.
     */
    public Optional<Long> shownOwner() {
        return ownership.isDisputed() || ownership.uids.isEmpty()
                ? Optional.empty()
                : Optional.ofNullable(uid)
                        .or(() -> ownership.uids.stream()
                                .filter(_ -> ownership.uids.size() == 1)
                                .findFirst());
    }

    /**
     * Returns the pid that is its id: genv names an environment after the shell that activated it, unless the user chooses another id.
     * Empty if the id is no pid.
     */
    public Optional<Integer> shell() {
        return PID.matcher(eid).matches() ? Optional.of(Integer.valueOf(eid)) : Optional.empty();
    }

    /** Returns the environment as one of the owner of its subordinate uid, and of the account of the owner if that is known. */
    public Environment ownedBy(long owner, Optional<String> account) {
        var known = new Ownership(
                ownership.dispute,
                ownership.immunity,
                ownership.uids,
                account.orElse(null),
                null,
                ownership.areUidsKnown);
        return new Environment(eid, owner, username, creation, config, pids, kernelIds, known);
    }

    /** Returns the environment with a disputed owner. */
    public Environment disputed(String why) {
        return with(ownership.with(why, ownership.rangeOwner));
    }

    /** Returns the environment whose recorded uid is in the range of subordinate uids of a user. */
    public Environment inRangeOf(long owner) {
        return with(ownership.with(ownership.dispute, owner));
    }

    private Environment with(Ownership known) {
        return with(pids, known);
    }

    /** Returns the environment with these of its pids, and what is known of its owner. */
    public Environment with(List<Integer> livePids, Ownership known) {
        return new Environment(eid, uid, username, creation, config, livePids, kernelIds, known);
    }

    /**
     * The configuration of an environment.
     *
     * @param gpuMemory the memory capacity as the user typed it; genv accepts any text
     */
    public record Config(
            @Nullable String name,
            @Nullable String gpuMemory,
            @Nullable Integer gpus) {}

    /** Returns the memory capacity on each attached device; empty if there is none or it is invalid. */
    public Optional<Memory> capacity() {
        return Optional.ofNullable(config.gpuMemory()).flatMap(Memory::parse);
    }

    /**
     * Returns the user in whose quota it counts: the account that has the uid, or else the recorded name, or else the uid. Empty for uid 0
     * without a name, which every container of genv's toolkit records.
     */
    public Optional<String> user() {
        if (ownership.account() != null) {
            return Optional.of(ownership.account());
        }
        if (username != null && !username.isEmpty()) {
            return Optional.of(username);
        }
        if (uid == null || uid == 0) {
            return Optional.empty();
        }
        return Optional.of(Long.toString(uid));
    }

    /** Returns that user if its owner is not disputed. */
    public Optional<String> undisputedUser() {
        return ownership.isDisputed() ? Optional.empty() : user();
    }

    /**
     * What other sources say about the recorded owner of an environment.
     *
     * @param dispute how the recorded user, the recorded uid and the real uids of its live pids disagree, as a clause; null if
     *     they agree as far as they are known
     * @param immunity why it is never detached: all its live pids belong to exempt users, or may; null if it may be
     * @param uids the real uids of its live pids, as far as they are known
     * @param account the account of the machine that has the recorded uid: that of the recorded user, or without a recorded user the
     *     first one by its name. Null if there is none
     * @param rangeOwner the uid of the user in whose range of subordinate uids the recorded uid is; null if it is in none
     * @param areUidsKnown whether the real uids of all its live pids are known, and the shell that it is named after has no other one:
     *     another user may have replaced the entry
     */
    public record Ownership(
            @Nullable String dispute,
            @Nullable Immunity immunity,
            Set<Long> uids,
            @Nullable String account,
            @Nullable Long rangeOwner,
            boolean areUidsKnown) {
        /** No source contradicts the record. */
        public static final Ownership UNDISPUTED = new Ownership(null, false, Set.of());

        public Ownership {
            uids = Set.copyOf(uids);
        }

        public Ownership(@Nullable String dispute, boolean exempt, Set<Long> uids) {
            this(
                    dispute,
                    exempt ? new Immunity(Immunity.Kind.EXEMPT, "all its live processes belong to exempt users") : null,
                    uids,
                    null,
                    null,
                    true);
        }

        private Ownership with(@Nullable String otherDispute, @Nullable Long otherRangeOwner) {
            return new Ownership(otherDispute, immunity, uids, account, otherRangeOwner, areUidsKnown);
        }

        public boolean isDisputed() {
            return dispute != null;
        }

        /** Whether an account of the machine confirms the owner. */
        public boolean isAccount() {
            return account != null;
        }
    }
}
