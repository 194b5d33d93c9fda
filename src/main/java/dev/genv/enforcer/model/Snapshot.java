package dev.genv.enforcer.model;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * One look at one machine. Its lists are sorted, so that what is decided never depends on the order in which things were
 * found.
 *
 * @param environments the live ones
 * @param devices those that {@code devices.json} describes, with the attachments of live environments
 * @param listedDevices the indices of the devices that the GPU tool lists
 * @param uidsOfPids the real uids of the live pids that the environments list or are named after, as far as they are known
 * @param missing the parts that could not be seen: no rule that needs one of them may act here
 */
public record Snapshot(
        String host,
        List<GpuProcess> processes,
        List<Environment> environments,
        List<Device> devices,
        Set<Integer> listedDevices,
        Map<Integer, Long> uidsOfPids,
        SubordinateUids subordinateUids,
        Set<Part> missing,
        List<Problem> problems) {

    /** One of a machine of which neither the uids of the listed pids nor the subordinate uids are known. */
    public Snapshot(
            String host,
            List<GpuProcess> processes,
            List<Environment> environments,
            List<Device> devices,
            Set<Integer> listedDevices,
            Set<Part> missing,
            List<Problem> problems) {
        this(host, processes, environments, devices, listedDevices, Map.of(), SubordinateUids.NONE, missing, problems);
    }

    public Snapshot {
        processes =
                processes.stream().sorted(Comparator.comparing(GpuProcess::id)).toList();
        environments = environments.stream()
                .sorted(Comparator.comparing(Environment::eid))
                .toList();
        devices =
                devices.stream().sorted(Comparator.comparingInt(Device::index)).toList();
        listedDevices = Set.copyOf(listedDevices);
        uidsOfPids = Map.copyOf(uidsOfPids);
        missing = missing.isEmpty() ? Set.of() : Set.copyOf(EnumSet.copyOf(missing));
        problems = List.copyOf(problems);
    }

    /** A machine of which nothing is known beyond its name, and why. */
    public static Snapshot unseen(String host, Problem why) {
        return new Snapshot(host, List.of(), List.of(), List.of(), Set.of(), EnumSet.allOf(Part.class), List.of(why));
    }

    public boolean isComplete() {
        return missing.isEmpty();
    }

    public boolean knows(Part... parts) {
        return Set.of(parts).stream().noneMatch(missing::contains);
    }

    /** The live environments by their id. */
    public Map<String, Environment> environmentsById() {
        return environments.stream()
                .collect(Collectors.toMap(Environment::eid, environment -> environment, (first, second) -> first));
    }

    /** The described devices by their index. */
    public Map<Integer, Device> devicesByIndex() {
        return devices.stream().collect(Collectors.toMap(Device::index, device -> device, (first, second) -> first));
    }

    /** The processes that name an environment, by that environment's id. */
    public Map<String, List<GpuProcess>> processesByEnvironment() {
        var byEnvironment = new HashMap<String, List<GpuProcess>>();
        for (var process : processes) {
            if (process.membership() instanceof Membership.InEnvironment(var eid)) {
                byEnvironment.computeIfAbsent(eid, _ -> new ArrayList<>()).add(process);
            }
        }
        return byEnvironment;
    }
}
