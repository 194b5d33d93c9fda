package dev.genv.enforcer.model;

import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A live environment, as {@code envs.json} describes it. Every local user can write that file: this is testimony, not
 * proof.
 *
 * @param uid the uid that was written down; null where what stands there is none
 * @param username null where genv knew no name
 * @param creation the machine's local time, as genv wrote it
 * @param ownership what is known of its owner besides
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
    private static final Pattern PID = Pattern.compile("[1-9][0-9]{0,8}");

    public Environment {
        pids = List.copyOf(pids);
        kernelIds = List.copyOf(kernelIds);
    }

    /** One against whose owner nothing speaks. */
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
     * Whether a process of this uid belongs in it, as far as is known: it is that of one of its live pids, and where
     * nothing is known of them, the one that was written down. A stranger may be in it too.
     */
    public boolean isOf(@Nullable Long realUid) {
        return realUid == null
                || (ownership.uids().isEmpty()
                        ? realUid.equals(uid)
                        : ownership.uids().contains(realUid));
    }

    /**
     * Whether a process of this uid is neither root's nor of a user to whom the environment may belong: whose uid is
     * recorded, or is that of one of its live pids. False if neither is known.
     */
    public boolean isStranger(@Nullable Long realUid) {
        return realUid != null
                && realUid != 0
                && !realUid.equals(uid)
                && !ownership.uids().contains(realUid)
                && (uid != null || !ownership.uids().isEmpty());
    }

    /**
     * The pid that is its id: genv names an environment after the shell in which it was activated, unless the user names
     * it otherwise. Nothing where the id is no pid.
     */
    public Optional<Integer> shell() {
        return PID.matcher(eid).matches() ? Optional.of(Integer.valueOf(eid)) : Optional.empty();
    }

    /** The same with other pids. */
    public Environment with(List<Integer> otherPids) {
        return new Environment(eid, uid, username, creation, config, otherPids, kernelIds, ownership);
    }

    public Environment with(Ownership other) {
        return new Environment(eid, uid, username, creation, config, pids, kernelIds, other);
    }

    /**
     * What the user asked for.
     *
     * @param gpuMemory the memory capacity, as it was typed; genv accepts anything here
     */
    public record Config(
            @Nullable String name,
            @Nullable String gpuMemory,
            @Nullable Integer gpus) {}

    /** The memory capacity on each attached device; nothing where there is none or where it cannot be read. */
    public Optional<Memory> capacity() {
        return Optional.ofNullable(config.gpuMemory()).flatMap(Memory::parse);
    }

    /**
     * Whose environment this is: the name, else the uid. Without a name, uid 0 is nobody: every container of genv's own
     * toolkit looks like that.
     */
    public Optional<String> user() {
        if (username != null && !username.isEmpty()) {
            return Optional.of(username);
        }
        return uid == null || uid == 0 ? Optional.empty() : Optional.of(Long.toString(uid));
    }
}
