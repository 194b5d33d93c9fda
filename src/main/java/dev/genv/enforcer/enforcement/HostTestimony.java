package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Violation;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What the state of one machine said before. */
final class HostTestimony {
    private final Ticker ticker;
    private final Map<String, EnvironmentTestimony> environments = new HashMap<>();
    private final Map<Integer, Testimony.Seen> unlisted = new HashMap<>();
    private Set<Integer> listed = Set.of();

    HostTestimony(Ticker ticker) {
        this.ticker = ticker;
    }

    void hear(Snapshot snapshot) {
        if (!snapshot.knows(Part.ENVIRONMENTS)) {
            return;
        }
        hearPids(snapshot.environments());
        var living = snapshot.environmentsById();
        environments.forEach((eid, memory) -> {
            if (!living.containsKey(eid)) {
                memory.died();
            }
        });
        var holders = snapshot.knows(Part.ATTACHMENTS) ? holders(snapshot.devices()) : Map.<Integer, Set<String>>of();
        living.forEach((eid, environment) -> environments
                .computeIfAbsent(eid, _ -> new EnvironmentTestimony(ticker))
                .hear(environment, holders));
    }

    void detached(String eid, int device) {
        var memory = environments.get(eid);
        if (memory != null) {
            memory.detached(device);
        }
    }

    void forget(Predicate<Testimony.Seen> isOld) {
        unlisted.values().removeIf(isOld);
        environments.values().removeIf(memory -> {
            var death = memory.death();
            return death != null && isOld.test(death);
        });
        environments.values().forEach(memory -> memory.forget(isOld));
    }

    /** That no environment lists this pid any more. */
    Testimony.@Nullable Seen unlisted(int pid) {
        return unlisted.get(pid);
    }

    Testimony.@Nullable Seen died(String eid) {
        var memory = environments.get(eid);
        return memory == null ? null : memory.death();
    }

    Testimony.@Nullable Seen vanished(String eid, List<Integer> devices) {
        var memory = environments.get(eid);
        return memory == null ? null : memory.vanished(devices);
    }

    Testimony.@Nullable Seen lowered(String eid, Violation cause) {
        var memory = environments.get(eid);
        return memory == null ? null : memory.lowered(cause);
    }

    Testimony.@Nullable Seen changedHands(String eid) {
        var memory = environments.get(eid);
        return memory == null ? null : memory.changedHands();
    }

    /** A process without an id is safe as long as an environment lists its pid: to strike it out is to edit its entry. */
    private void hearPids(List<Environment> living) {
        var present = new HashSet<Integer>();
        living.forEach(environment -> present.addAll(environment.pids()));
        for (var pid : listed) {
            if (!present.contains(pid)) {
                unlisted.computeIfAbsent(
                        pid,
                        _ -> Testimony.Seen.now(
                                ticker, "an environment listed pid " + pid, "no environment lists pid " + pid));
            }
        }
        unlisted.keySet().removeAll(present);
        listed = present;
    }

    /** Which environments hold each of the devices that are described. */
    private static Map<Integer, Set<String>> holders(List<Device> devices) {
        var holders = new HashMap<Integer, Set<String>>();
        for (var device : devices) {
            holders.put(
                    device.index(),
                    device.attachments().stream().map(Attachment::eid).collect(Collectors.toSet()));
        }
        return holders;
    }
}
