package dev.genv.enforcer.recording.replay;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a policy would have done to one user. Users choose the number of their processes, so only the first actions are listed. */
public final class ReplayedUser {
    /** The largest number of listed actions of one user. */
    public static final int MAX_LISTED = 100;

    private final @Nullable String name;
    private final List<ReplayedAction> listed = new ArrayList<>();
    private long terminations;
    private long detachments;

    ReplayedUser(@Nullable String name) {
        this.name = name;
    }

    /** Counts an action, and returns whether it is listed too. */
    boolean add(ReplayedAction action, boolean mayBeListed) {
        switch (action.target()) {
            case ReplayedAction.EndedProcess _ -> terminations++;
            case ReplayedAction.EndedAttachment _ -> detachments++;
        }
        return mayBeListed && listed.size() < MAX_LISTED && listed.add(action);
    }

    /** The user; null for what has no known user, and for the users above the largest number. */
    public @Nullable String name() {
        return name;
    }

    /** The first actions in the order of their time. */
    public List<ReplayedAction> listed() {
        return List.copyOf(listed);
    }

    public long terminations() {
        return terminations;
    }

    public long detachments() {
        return detachments;
    }
}
