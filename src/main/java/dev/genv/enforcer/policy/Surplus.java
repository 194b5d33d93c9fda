package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Appearances;
import dev.genv.enforcer.model.Problem;
import java.util.List;

/**
 * What a user holds above the limit.
 *
 * @param chosen those to give up
 * @param undecided those that only the recorded times would choose. Every user can write these: another user may have forged one
 *     of the attachments, dated long ago, and then the real one and its processes would go
 */
record Surplus(List<Holding> chosen, List<Holding> undecided) {

    static Surplus of(List<Holding> held, int count, Appearances appearances) {
        var sorted = held.stream().sorted(Holding.LEAST_HARM).toList();
        var first = sorted.subList(0, count);
        if (appearances.trustsRecordedTimes()
                || sorted.subList(count, sorted.size()).stream().noneMatch(Holding::isUnproven)) {
            return new Surplus(first, List.of());
        }
        return new Surplus(
                first.stream().filter(holding -> !holding.isUnproven()).toList(),
                first.stream().filter(Holding::isUnproven).toList());
    }

    int size() {
        return chosen.size() + undecided.size();
    }

    List<HostProblem> problems(String user) {
        return undecided.stream()
                .map(Holding::host)
                .distinct()
                .map(host -> new HostProblem(
                        host,
                        new Problem(
                                "quota_undecided",
                                "User %s holds %d device(s) too many, and only the times in devices.json tell which ones came last: these are left to the user"
                                        .formatted(Words.safe(user), undecided.size()))))
                .toList();
    }
}
