package dev.genv.enforcer.observation.gpu;

import dev.genv.enforcer.gpu.GpuQuery;
import dev.genv.enforcer.gpu.GpuStatusLine;
import dev.genv.enforcer.gpu.ToolException;
import dev.genv.enforcer.host.GpuFacts;
import dev.genv.enforcer.host.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.DeviceStatus;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.util.List;

/** Interprets what nvidia-smi answered about the temperature, the utilization and the memory of the GPUs. Nothing else depends on it. */
public final class DeviceStatuses {
    private DeviceStatuses() {}

    /** Returns the status of each device, in the order of the indices; none if it was not asked for it. */
    public static Found<List<DeviceStatus>> of(GpuFacts facts) {
        return switch (facts.status()) {
            case Reading.Value<ToolOutput>(var output) -> of(output);
            case Reading.Failed<ToolOutput>(var _, var reason) ->
                reason.isEmpty() ? Found.of(List.of()) : unknown(reason);
        };
    }

    private static Found<List<DeviceStatus>> of(ToolOutput output) {
        try {
            return Found.of(GpuStatusLine.parse(GpuQuery.lines(
                    output.exitCode(), output.stdout().text(), output.stderr().text())));
        } catch (ToolException e) {
            return unknown(String.valueOf(e.getMessage()));
        }
    }

    private static Found<List<DeviceStatus>> unknown(String reason) {
        List<DeviceStatus> none = List.of();
        return Found.of(none).with(new Problem(ProblemCode.DEVICE_STATUS_UNKNOWN, reason));
    }
}
