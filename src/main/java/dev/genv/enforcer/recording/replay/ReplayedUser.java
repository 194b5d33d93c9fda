package dev.genv.enforcer.recording.replay;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What a policy would have done to one user. Users choose the number of their processes, so only the first actions are listed. */
public final class ReplayedUser {
    /** The largest number of listed actions of one user. */
    public static final int MAX_LISTED = 100;

    private final Optional<String> name;
    private final List<ReplayedAction> listed = new ArrayList<>();
    private long terminations;
    private long detachments;

    ReplayedUser(Optional<String> name) {
        this.name = name;
    }

    /** Counts an action, and returns whether it is listed too. */
    boolean add(ReplayedAction action, boolean mayBeListed) {
        switch (action.target()) {
            case ReplayedAction.TerminatedProcess _ -> terminations++;
            case ReplayedAction.DetachedAttachment _ -> detachments++;
        }
        return mayBeListed && listed.size() < MAX_LISTED && listed.add(action);
    }

    /** Adds the actions of a uid whose name became known later. */
    void add(ReplayedUser other) {
        terminations += other.terminations;
        detachments += other.detachments;
        listed.addAll(other.listed);
        listed.sort(Comparator.comparing(ReplayedAction::at));
        listed.subList(Math.min(MAX_LISTED, listed.size()), listed.size()).clear();
    }

    /** The user; null for what has no known user, and for the users above the largest number. */
    public @Nullable String name() {
        return name.orElse(null);
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

    /** The number of all of them. */
    public long actions() {
        return terminations + detachments;
    }
}
