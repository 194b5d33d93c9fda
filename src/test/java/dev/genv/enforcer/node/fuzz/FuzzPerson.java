package dev.genv.enforcer.node.fuzz;

import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A person on a {@link FuzzNode}. */
record FuzzPerson(String name, long uid, List<Env> envs) {
    Set<Integer> devices() {
        return envs.stream().flatMap(env -> env.jobs.keySet().stream()).collect(Collectors.toCollection(TreeSet::new));
    }

    Set<Integer> pids() {
        var pids = new TreeSet<Integer>();
        envs.forEach(env -> {
            pids.add(env.shell);
            pids.addAll(env.jobs.values());
        });
        return pids;
    }

    /** Whether an action terminates a process of this person, or detaches a device that it uses. */
    boolean isHarmedBy(Action action) {
        return switch (action) {
            case Action.Terminate terminate ->
                pids().contains(terminate.process().pid());
            case Action.Detach detach ->
                envs.stream()
                        .anyMatch(env -> env.eid.equals(detach.environment().eid())
                                && env.jobs.containsKey(detach.device())
                                && StateFiles.TIME.equals(detach.attachment().time()));
        };
    }

    /** An environment and its jobs, by the device on which each runs. */
    record Env(String eid, int shell, @Nullable String capacity, Map<Integer, Integer> jobs) {}
}
