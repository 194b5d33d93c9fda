package dev.genv.enforcer.testsupport.builder;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.model.Snapshot.Unexplained;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.SubordinateUids;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Builds the snapshot of a host; by default it is complete, and the state and the GPU tool have the same devices. */
public final class HostBuilder {
    private Accounts accounts = Accounts.NONE;
    private final List<DeviceStatus> statuses = new ArrayList<>();
    private final String name;
    private final Set<Integer> inState = new TreeSet<>();
    private final Set<Integer> listedByTool = new TreeSet<>();
    private final List<EnvBuilder> environments = new ArrayList<>();
    private final List<GpuProcessBuilder> processes = new ArrayList<>();
    private final Set<Integer> unexplained = new TreeSet<>();
    private final Set<Integer> othersShells = new TreeSet<>();
    private final Set<Integer> pidsOfUnknownUid = new TreeSet<>();
    private final List<SubordinateUids.Range> subordinates = new ArrayList<>();
    private final Set<Integer> suspected = new TreeSet<>();
    private final Set<Integer> unknown = new TreeSet<>();
    private final Set<SnapshotPart> missing = EnumSet.noneOf(SnapshotPart.class);

    private HostBuilder(String name) {
        this.name = name;
    }

    public static HostBuilder host(String name) {
        return new HostBuilder(name);
    }

    public static HostBuilder host() {
        return host("here");
    }

    /** Returns a fleet of machines over SSH. */
    public static Fleet remote(HostBuilder... hosts) {
        return new Fleet(Stream.of(hosts).map(HostBuilder::snapshot).toList(), true);
    }

    /** Devices 0 to count - 1. */
    public HostBuilder devices(int count) {
        for (var index = 0; index < count; index++) {
            inState.add(index);
            listedByTool.add(index);
        }
        return this;
    }

    /** Adds a device that is in the state, and that the GPU tool does not list. */
    public HostBuilder unlisted(int device) {
        listedByTool.remove(device);
        return this;
    }

    public HostBuilder with(EnvBuilder... more) {
        environments.addAll(List.of(more));
        return this;
    }

    public HostBuilder with(GpuProcessBuilder... more) {
        processes.addAll(List.of(more));
        return this;
    }

    /** Adds what these lines describe, for example {@code env a on 0} and {@code process 1 in a on 0=500mi,1}. */
    public HostBuilder with(String... lines) {
        List.of(lines).forEach(this::read);
        return this;
    }

    /** Adds devices on which memory is not explained for long. */
    public HostBuilder memoryUnexplained(Integer... devices) {
        unexplained.addAll(List.of(devices));
        return this;
    }

    /** Has the driver not report the memory of devices, or that of a process on them. */
    public HostBuilder memoryUnknown(Integer... devices) {
        unknown.addAll(List.of(devices));
        return this;
    }

    /** Adds devices on which memory has not been explained for long. */
    public HostBuilder memorySuspected(Integer... devices) {
        suspected.addAll(List.of(devices));
        return this;
    }

    /** Gives an account subordinate uids. */
    public HostBuilder subordinate(long owner, long first, long count) {
        subordinates.add(new SubordinateUids.Range(owner, first, count));
        return this;
    }

    /** Sets the utilization of the first devices; null for an unknown one. */
    public HostBuilder utilization(@Nullable Integer... percents) {
        statuses.clear();
        for (var device = 0; device < percents.length; device++) {
            statuses.add(new DeviceStatus(device, null, percents[device], null, null, null, null));
        }
        return this;
    }

    public HostBuilder accounts(Accounts known) {
        accounts = known;
        return this;
    }

    public HostBuilder missing(SnapshotPart... parts) {
        missing.addAll(List.of(parts));
        return this;
    }

    private Environment owned(EnvBuilder builder) {
        var environment = builder.build();
        var isOther = environment.shell().filter(othersShells::contains).isPresent();
        var isUnread = environment.pids().stream().anyMatch(pidsOfUnknownUid::contains);
        var known = isOther || isUnread ? builder.uidsUnknown().build() : environment;
        var rangeOwner = new SubordinateUids(subordinates).rangeOwnerOf(known.uid());
        return rangeOwner == null ? known : known.inRangeOf(rangeOwner);
    }

    public Snapshot snapshot() {
        return new Snapshot(
                name,
                processes.stream()
                        .map(process -> process.build(new SubordinateUids(subordinates)))
                        .toList(),
                unexplained(),
                environments.stream().map(this::owned).toList(),
                inState.stream().map(this::device).toList(),
                listedByTool,
                missing,
                List.of(),
                new HostDetails(
                        HostDetails.NONE.answer(),
                        null,
                        0,
                        Set.of(),
                        List.of(),
                        null,
                        accounts,
                        statuses,
                        HostDetails.NONE.shown()));
    }

    private Unexplained unexplained() {
        var memory = unexplained.stream().collect(Collectors.toMap(index -> index, _ -> Memory.ofMebibytes(1024)));
        return new Unexplained(memory, suspected, unknown);
    }

    /** Returns a fleet of this host only, as the service's node. */
    public Fleet fleet() {
        return new Fleet(List.of(snapshot()), false);
    }

    private Device device(int index) {
        List<Attachment> attachments = environments.stream()
                .flatMap(env -> env.attachments.getOrDefault(index, List.of()).stream())
                .toList();
        return new Device(index, "15258mi", attachments);
    }

    /** Reads a part of a host in words, such as {@code process 812 in a uid 1007 on 0=1100mi,1}. */
    private void read(String line) {
        var words = new ArrayDeque<>(List.of(line.split(" ")));
        var kind = words.remove();
        switch (kind) {
            case "env" -> environments.add(environment(words));
            case "process" -> processes.add(process(words));
            case "missing" -> missing(SnapshotPart.valueOf(words.remove()));
            case "uid-unread" -> pidsOfUnknownUid.add(number(words));
            case "other-shell" -> othersShells.add(number(words));
            case "subordinate" -> subordinate(number(words), number(words), number(words));
            default -> throw new IllegalArgumentException(kind);
        }
    }

    private static EnvBuilder environment(Queue<String> words) {
        var environment = EnvBuilder.env(words.remove());
        var devices = new int[0];
        var time = EnvBuilder.TIME;
        while (!words.isEmpty()) {
            var word = words.remove();
            switch (word) {
                case "of" -> environment.user(words.remove());
                case "unnamed" -> environment.withoutUsername();
                case "uid" -> environment.uid(number(words));
                case "capacity" -> environment.capacity(words.remove());
                case "live" -> environment.livePidsOf(number(words));
                case "account" -> environment.account();
                case "disputed" -> environment.disputed("so");
                case "exempt" -> environment.exempt();
                case "pids" -> environment.pids(number(words));
                case "on" ->
                    devices = Arrays.stream(words.remove().split(","))
                            .mapToInt(Integer::parseInt)
                            .toArray();
                case "at" -> time = time(words);
                default -> throw new IllegalArgumentException(word);
            }
        }
        return environment.attachedAt(time, devices);
    }

    private static String time(Queue<String> words) {
        var word = words.remove();
        return switch (word) {
            case "OLD" -> "01/01/2026 00:00:00";
            case "NEW" -> "31/12/2026 00:00:00";
            default -> word + " " + words.remove();
        };
    }

    private static GpuProcessBuilder process(Queue<String> words) {
        var process = GpuProcessBuilder.process(number(words));
        while (!words.isEmpty()) {
            var word = words.remove();
            switch (word) {
                case "in" -> process.inEnvironment(words.remove());
                case "unknown" -> process.unreadable();
                case "native" -> process.ofItsUid();
                case "owner-unknown" -> process.ownerUnknown();
                case "in-container" ->
                    process.workload(new Workload(null, new Workload.Container("c".repeat(64)), null, null));
                case "cgroup-unknown" -> process.workload(Workload.UNKNOWN);
                case "account" -> process.account(words.remove());
                case "excused" -> process.excusedOn(number(words));
                case "immune" -> process.immune(Immunity.Kind.PROTECTED, "so");
                case "later" -> process.startedLaterBy(number(words));
                case "uid" -> uid(process, words.remove());
                case "on" -> Arrays.stream(words.remove().split(",")).forEach(use -> use(process, use.split("=", -1)));
                default -> throw new IllegalArgumentException(word);
            }
        }
        return process;
    }

    private static void uid(GpuProcessBuilder process, String text) {
        if (text.equals("?")) {
            process.uidUnknown();
        } else {
            process.uid(Long.parseLong(text));
        }
    }

    /** A device, and how much memory is used there. */
    private static void use(GpuProcessBuilder process, String[] parts) {
        var device = Integer.parseInt(parts[0]);
        if (parts.length == 1) {
            process.uses(device);
        } else if (parts[1].equals("?")) {
            process.usesUnknown(device);
        } else {
            process.uses(device, parts[1]);
        }
    }

    private static int number(Queue<String> words) {
        return Integer.parseInt(words.remove());
    }
}
