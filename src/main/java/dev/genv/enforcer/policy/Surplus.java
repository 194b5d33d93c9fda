package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.Holdings.Holding;
import dev.genv.enforcer.policy.Plan.HostProblem;
import java.util.List;

/**
 * The devices that a user holds above the limit.
 *
 * @param chosen the devices to detach
 * @param undecided the devices that only the recorded times would choose. Every user can write these times, so another user may have
 *     forged an attachment with an old time, and then the real one and its processes would be lost
 */
public record Surplus(List<Holding> chosen, List<Holding> undecided) {

    public static Surplus of(List<Holding> held, int count, Appearances appearances) {
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

    public int size() {
        return chosen.size() + undecided.size();
    }

    public List<HostProblem> problems(String user) {
        return undecided.stream()
                .map(Holding::host)
                .distinct()
                .map(host -> new HostProblem(
                        host,
                        new Problem(
                                ProblemCode.QUOTA_UNDECIDED,
                                "User %s holds %d device(s) too many, and only the times in devices.json show which ones came last: the user must detach them"
                                        .formatted(SafeText.escape(user), undecided.size()))))
                .toList();
    }
}
