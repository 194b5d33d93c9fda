package dev.genv.enforcer.model;

import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Membership.MembershipSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * On which devices active environments excuse the processes that they list. genv gives an id to running shells, and its SDK and Ray to
 * running processes, whose environs never show it. Every user can write a list, so it excuses a process and never accuses it.
 */
public final class Excuses {
    private final Map<Integer, List<Environment>> byPid = new HashMap<>();
    private final Map<String, Set<Integer>> held = new HashMap<>();
    private final boolean areAttachmentsKnown;

    /**
     * Creates them by the active environments.
     *
     * @param areAttachmentsKnown whether the devices have all attachments; otherwise an environment may hold any device
     */
    public Excuses(Collection<Environment> environments, Collection<Device> devices, boolean areAttachmentsKnown) {
        this.areAttachmentsKnown = areAttachmentsKnown;
        environments.forEach(environment -> environment
                .pids()
                .forEach(pid ->
                        byPid.computeIfAbsent(pid, _ -> new ArrayList<>()).add(environment)));
        devices.forEach(device -> device.attachments()
                .forEach(attachment -> held.computeIfAbsent(attachment.eid(), _ -> new HashSet<>())
                        .add(device.index())));
    }

    /**
     * Returns a process with the devices on which it is excused by environments other than that of its nearest ancestor. An environ that
     * names an environment decides alone.
     *
     * @param ancestors the pids of its ancestors of the same real uid
     * @param areAllKnown whether these are all ancestors; otherwise each environment of its user may list one
     */
    public GpuProcess apply(GpuProcess process, Stream<Integer> ancestors, boolean areAllKnown) {
        var isOwn = process.membershipBy() == MembershipSource.ENVIRON
                || process.membershipBy() == MembershipSource.EARLIER;
        if (isOwn && process.membership() instanceof Membership.InEnvironment) {
            return process;
        }
        var pids = areAllKnown ? Stream.concat(Stream.of(process.pid()), ancestors) : byPid.keySet().stream();
        var environments = pids.flatMap(pid -> byPid.getOrDefault(pid, List.of()).stream())
                .filter(environment -> isOfUser(environment, process) && !process.names(environment.eid()))
                .toList();
        var devices = process.usage().stream()
                .map(DeviceUsage::device)
                .filter(device -> environments.stream().anyMatch(environment -> mayHold(environment, device)))
                .collect(Collectors.toUnmodifiableSet());
        return devices.isEmpty() ? process : process.excusedOn(devices);
    }

    /** Another user must not excuse it. Root without a name is what every container of genv's toolkit records. */
    private static boolean isOfUser(Environment environment, GpuProcess process) {
        var uid = environment.uid();
        return uid != null
                && (process.uid() == null
                        || uid.equals(process.uid())
                        || (uid == 0 && environment.user().isEmpty()));
    }

    private boolean mayHold(Environment environment, int device) {
        return !areAttachmentsKnown
                || held.getOrDefault(environment.eid(), Set.of()).contains(device);
    }
}
