package dev.genv.enforcer.testsupport.builder;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.model.Snapshot.Unlisted;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.random.RandomGenerator;

/** Puts all lists of a fleet into another order. */
record FleetShuffle(RandomGenerator random) {
    Fleet shuffled(Fleet fleet) {
        return new Fleet(shuffled(fleet.snapshots().stream().map(this::shuffled).toList()), fleet.remote());
    }

    private Snapshot shuffled(Snapshot snapshot) {
        var processes = snapshot.processes().stream()
                .map(process -> new GpuProcess(
                        process.id(),
                        process.uid(),
                        process.command(),
                        process.membership(),
                        shuffled(process.usage())))
                .toList();
        var devices = snapshot.devices().stream()
                .map(device -> new Device(device.index(), device.totalMemory(), shuffled(device.attachments())))
                .toList();
        return new Snapshot(
                snapshot.host(),
                shuffled(processes),
                new Unlisted(
                        snapshot.unlisted().memory(),
                        shuffled(snapshot.unlisted().holders())),
                shuffled(snapshot.environments()),
                shuffled(devices),
                new HashSet<>(shuffled(List.copyOf(snapshot.listedDevices()))),
                snapshot.uidsOfPids(),
                snapshot.subordinateUids(),
                snapshot.missing(),
                shuffled(snapshot.problems()),
                HostDetails.NONE);
    }

    private <T> List<T> shuffled(List<T> list) {
        var copy = new ArrayList<>(list);
        Collections.shuffle(copy, random);
        return copy;
    }
}
