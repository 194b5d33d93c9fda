package dev.genv.enforcer.recording;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.testsupport.builder.RandomFleets;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Fleets that follow one another: mostly the same, with other memory, fewer processes, other environments, and hosts that do not answer. */
public final class RandomPast {
    private final RandomFleets random;
    private final Map<String, Snapshot> hosts = new TreeMap<>();

    public RandomPast(long seed) {
        random = new RandomFleets(seed);
    }

    public RandomFleets random() {
        return random;
    }

    public Fleet next() {
        var other = random.next().snapshots().stream().collect(Collectors.toMap(Snapshot::host, Function.identity()));
        other.forEach((name, snapshot) -> {
            if (!hosts.containsKey(name) || random.oneIn(6)) {
                hosts.put(name, snapshot);
            }
        });
        if (random.oneIn(20)) {
            hosts.keySet().stream().findFirst().ifPresent(hosts::remove);
        }
        hosts.replaceAll((_, snapshot) -> changed(snapshot));
        return new Fleet(hosts.values().stream().map(this::perhapsHidden).toList(), true);
    }

    private Snapshot changed(Snapshot before) {
        var processes = new ArrayList<GpuProcess>();
        for (var process : before.processes()) {
            if (!random.oneIn(15)) {
                processes.add(random.oneIn(2) ? process : withOtherMemory(process));
            }
        }
        return before.withProcesses(processes);
    }

    private GpuProcess withOtherMemory(GpuProcess process) {
        return process.withUsage(process.usage().stream()
                .map(use -> new DeviceUsage(use.device(), other(use.memory())))
                .toList());
    }

    private @Nullable Memory other(@Nullable Memory before) {
        if (before == null || random.oneIn(20)) {
            return random.oneIn(2) ? null : Memory.ofMebibytes(random.random().nextInt(2_000));
        }
        var change = random.pick(List.of(-200, -70, -64, -63, -10, -1, 0, 1, 10, 63, 64, 65, 70, 200));
        return new Memory(Math.max(0, before.bytes() + ((long) change << 20)));
    }

    private Snapshot perhapsHidden(Snapshot snapshot) {
        if (random.oneIn(12)) {
            return Snapshot.unseen(snapshot.host(), new Problem(ProblemCode.UNREACHABLE, "no answer"));
        }
        if (random.oneIn(12)) {
            return new Snapshot(
                    snapshot.host(),
                    List.of(),
                    snapshot.environments(),
                    snapshot.devices(),
                    snapshot.listedDevices(),
                    EnumSet.of(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS),
                    List.of());
        }
        return snapshot;
    }
}
