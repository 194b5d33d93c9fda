package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.facts.GpuFacts;
import dev.genv.enforcer.facts.GpuFacts.ToolFacts;
import dev.genv.enforcer.facts.GpuFacts.ToolOutput;
import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Device;
import dev.genv.enforcer.facts.NvmlFacts.DeviceProcess;
import dev.genv.enforcer.facts.NvmlFacts.MigDevice;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.format.gpu.GpuLine;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The pids in the answers of a source. */
public final class ListedPids {
    private ListedPids() {}

    /** Returns the pids of the processes with a compute context, each once, ascending. */
    public static List<Integer> of(GpuFacts facts) {
        var pids = switch (facts) {
            case ToolFacts(Reading.Value<ToolOutput>(var output), var _, var _, var _) ->
                GpuLine.parse(output.stdout().text().lines().toList()).value().stream()
                        .map(GpuLine::pid);
            case GpuFacts.SelectedFacts(var answer, var _, var _) -> of(answer).stream();
            case ToolFacts _, NvmlFacts.Failed _ -> Stream.<Integer>empty();
            case NvmlFacts.Listed(var _, var devices) ->
                devices.stream()
                        .flatMap(ListedPids::compute)
                        .map(DeviceProcess::pid)
                        .filter(pid -> pid > 0 && pid <= Integer.MAX_VALUE)
                        .map(Long::intValue);
        };
        return pids.distinct().sorted().toList();
    }

    /** Returns the pids on a device. */
    static Set<Integer> of(Device device) {
        return compute(device)
                .map(DeviceProcess::pid)
                .filter(pid -> pid > 0 && pid <= Integer.MAX_VALUE)
                .map(Long::intValue)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static Stream<DeviceProcess> compute(Device device) {
        return Stream.concat(
                values(device.compute()),
                values(device.instances()).map(MigDevice::compute).flatMap(ListedPids::values));
    }

    private static <T> Stream<T> values(Answer<List<T>> answer) {
        return answer instanceof NvmlFacts.Value<List<T>>(var list) ? list.stream() : Stream.empty();
    }
}
