package dev.genv.enforcer.testsupport.builder;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Environment.Ownership;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.model.Snapshot.Unexplained;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Fleets of up to 5 machines with up to 16 devices, 12 environments and 24 processes each, which often break rules and often have equal candidates. The same seed gives the same fleets.
 */
public final class RandomFleets {
    private static final List<String> NAMES = Arrays.asList("raz", "alice", "bob", "root", "", null, null);
    private static final List<Long> UIDS = List.of(0L, 1000L, 1001L, 1002L, 1003L);
    private static final List<String> CAPACITIES = Arrays.asList(
            null,
            null,
            "1000mi",
            "1g",
            "1.5g",
            "500MiB",
            "700000k",
            "700000ki",
            "2gb",
            "2GiB",
            "1000000000b",
            "0",
            "x",
            "");
    private static final List<String> AMOUNTS =
            List.of("0 1 100mi 400mi 400mi 500mi 500m 0.6g 1gi 1001mi 777mi 3000k 8000000000g".split(" "));
    private static final List<String> TIMES = Arrays.asList(
            "20/11/2026 09:22:28", "20/11/2026 09:22:29", "01/12/2026 00:00:00", "21/01/2027 09:22:28", "soon", null);

    private final RandomGenerator random;

    public RandomFleets(long seed) {
        random = new SplittableRandom(seed);
    }

    public RandomGenerator random() {
        return random;
    }

    public Fleet next() {
        var snapshots = IntStream.rangeClosed(0, smallNumber(4))
                .mapToObj(number -> snapshot("gpu-" + number))
                .toList();
        return new Fleet(snapshots, snapshots.size() > 1 || random.nextBoolean());
    }

    /** Returns some of its processes, often none, for pending terminations. */
    public Set<HostProcess> pending(Fleet fleet) {
        var oneIn = oneIn(2) ? 5 : 1_000;
        return fleet.snapshots().stream()
                .flatMap(snapshot -> snapshot.processes().stream()
                        .filter(_ -> oneIn(oneIn))
                        .map(process -> new HostProcess(snapshot.host(), process.id())))
                .collect(Collectors.toSet());
    }

    /** Returns the same fleet in another order. */
    public Fleet shuffled(Fleet fleet) {
        return new Fleet(shuffled(fleet.snapshots().stream().map(this::shuffled).toList()), fleet.remote());
    }

    private Snapshot shuffled(Snapshot snapshot) {
        var processes = snapshot.processes().stream()
                .map(process -> new GpuProcess(
                        process.id(),
                        process.uid(),
                        process.command(),
                        process.membership(),
                        process.membershipBy(),
                        shuffled(process.usage()),
                        process.immunity(),
                        process.workload(),
                        process.user(),
                        process.owner(),
                        process.rangeOwner(),
                        process.excused()))
                .toList();
        var devices = snapshot.devices().stream()
                .map(device -> new Device(device.index(), device.totalMemory(), shuffled(device.attachments())))
                .toList();
        return new Snapshot(
                snapshot.host(),
                shuffled(processes),
                snapshot.unexplained(),
                shuffled(snapshot.environments()),
                shuffled(devices),
                new HashSet<>(shuffled(List.copyOf(snapshot.listedDevices()))),
                snapshot.missing(),
                shuffled(snapshot.problems()),
                HostDetails.NONE);
    }

    private <T> List<T> shuffled(List<T> list) {
        var copy = new ArrayList<>(list);
        Collections.shuffle(copy, random);
        return copy;
    }

    public <T> T pick(List<T> options) {
        return options.get(random.nextInt(options.size()));
    }

    public boolean oneIn(int times) {
        return random.nextInt(times) == 0;
    }

    private Snapshot snapshot(String host) {
        if (oneIn(30)) {
            return Snapshot.unseen(host, new Problem(ProblemCode.UNREACHABLE, "no answer"));
        }
        var environments = IntStream.range(0, smallNumber(12))
                .mapToObj(number -> environment(Integer.toString(100 + number)))
                .toList();
        var count = smallNumber(16);
        var devices = IntStream.range(0, count)
                .filter(_ -> !oneIn(25))
                .mapToObj(index -> device(index, environments))
                .toList();
        var listed = IntStream.range(0, count).filter(_ -> !oneIn(25)).boxed().collect(Collectors.toSet());
        var processes = count == 0
                ? List.<GpuProcess>of()
                : IntStream.range(0, smallNumber(24))
                        .mapToObj(number -> process(1000 + number, count, environments, devices))
                        .toList();
        return new Snapshot(
                host,
                processes,
                Unexplained.NONE,
                environments,
                devices,
                listed,
                missing(),
                List.of(),
                HostDetails.NONE);
    }

    private Set<SnapshotPart> missing() {
        return oneIn(20) ? EnumSet.of(pick(List.of(SnapshotPart.values()))) : Set.of();
    }

    private Environment environment(String eid) {
        var pids = IntStream.range(0, smallNumber(3))
                .mapToObj(_ -> random.nextInt(2, 5000))
                .toList();
        var config = new Environment.Config(oneIn(2) ? "job" : null, pick(CAPACITIES), oneIn(2) ? 1 : null);
        var uid = pick(UIDS);
        var name = pick(NAMES);
        var ownership = ownership(uid);
        var account = name != null && !name.isEmpty() && oneIn(3) ? name : null;
        return new Environment(
                eid,
                uid,
                name,
                EnvBuilder.TIME,
                config,
                pids,
                List.of(),
                new Ownership(
                        ownership.dispute(),
                        ownership.immunity(),
                        ownership.uids(),
                        account,
                        null,
                        pids.isEmpty() || oneIn(2)));
    }

    private Ownership ownership(long recorded) {
        if (oneIn(2)) {
            return Ownership.UNDISPUTED;
        }
        var uids = new HashSet<>(Set.of(recorded));
        if (oneIn(5)) {
            uids.add(pick(UIDS));
        }
        return new Ownership(uids.size() > 1 || oneIn(15) ? "they disagree" : null, false, uids);
    }

    private Device device(int index, List<Environment> environments) {
        var attachments = new ArrayList<Attachment>();
        for (var share = smallNumber(4); share > 0 && !environments.isEmpty(); share--) {
            attachments.add(new Attachment(pick(environments).eid(), oneIn(4) ? "1g" : null, pick(TIMES)));
        }
        if (oneIn(30)) {
            attachments.add(new Attachment("gone", null, pick(TIMES)));
        }
        return new Device(index, oneIn(10) ? null : "15258mi", attachments);
    }

    private GpuProcess process(int pid, int devices, List<Environment> environments, List<Device> described) {
        if (environments.isEmpty() || oneIn(6)) {
            var membership = pick(List.<Membership>of(
                    new Membership.Outside(),
                    new Membership.InEnvironment("gone"),
                    new Membership.Unknown("no permission")));
            return process(pid, uid(pick(UIDS)), membership, usage(devices, List.of()));
        }
        var environment = pick(environments);
        var own = described.stream()
                .filter(device -> device.isAttachedTo(environment.eid()))
                .map(Device::index)
                .toList();
        return process(
                pid, uid(environment.uid()), new Membership.InEnvironment(environment.eid()), usage(devices, own));
    }

    private GpuProcess process(int pid, Long uid, Membership membership, List<DeviceUsage> usage) {
        var process = new GpuProcess(new ProcessId(pid, 500 + smallNumber(3)), uid, "python", membership, usage);
        return usage.isEmpty() || !oneIn(8)
                ? process
                : process.excusedOn(Set.of(pick(usage).device()));
    }

    private Long uid(long likely) {
        return oneIn(4) ? pick(UIDS) : oneIn(10) ? null : Long.valueOf(likely);
    }

    private List<DeviceUsage> usage(int devices, List<Integer> likely) {
        var used = new TreeSet<Integer>();
        for (var times = 1 + smallNumber(3); times > 0; times--) {
            used.add(likely.isEmpty() || oneIn(12) ? random.nextInt(devices) : pick(likely));
        }
        return used.stream().map(index -> new DeviceUsage(index, memory())).toList();
    }

    private Memory memory() {
        return oneIn(12) ? null : Memory.parse(pick(AMOUNTS)).orElseThrow();
    }

    /** Returns a number from 0 to the maximum; lower numbers are more likely. */
    private int smallNumber(int most) {
        return Math.min(random.nextInt(most + 1), random.nextInt(most + 1));
    }
}
