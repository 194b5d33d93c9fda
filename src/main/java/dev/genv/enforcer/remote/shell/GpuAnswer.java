package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.format.gpu.GpuDevices;
import dev.genv.enforcer.format.gpu.GpuLine;
import dev.genv.enforcer.format.gpu.GpuQuery;
import dev.genv.enforcer.format.gpu.ToolException;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.observation.gpu.DeviceOrder;
import dev.genv.enforcer.observation.gpu.GpuListing;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** What nvidia-smi answered on a host. */
final class GpuAnswer {
    /** In bytes; the script takes half as much of what it lists, and hardly anything of what it complains of. */
    private static final int MOST = 2 << 20;

    private static final String HUNG = "137";
    private final HangBackoff<String> backoff;
    private final DeviceOrder order = new DeviceOrder();

    GpuAnswer(HangBackoff<String> backoff) {
        this.backoff = backoff;
    }

    /**
     * Lists what runs.
     *
     * @throws ToolException where nvidia-smi could not be found, trusted or understood, or took too long
     */
    Found<GpuListing> list(Frames frames) throws ToolException, UnreachableException {
        var tool = frames.find("tool");
        if (tool.isPresent()) {
            throw new ToolException(
                    tool.get().at(0).equals("skipped")
                            ? "nvidia-smi hung in an earlier observation and could not be terminated: it is not run for a while"
                            : tool.get().from(1));
        }
        var answer = frames.one("gpu_processes");
        var lines = GpuLine.parse(lines(answer));
        var devices = GpuDevices.parse(lines(frames.one("gpu_devices")));
        devices.requireSame(!GpuQuery.foundNoDevices((int) answer.number(0), text(answer)));
        order.recordBoot(frames.one("machine").at(1));
        return GpuListing.of(lines, devices, order);
    }

    private static String text(Frame frame) throws UnreachableException {
        return new String(frame.bytes(MOST), StandardCharsets.UTF_8);
    }

    private List<String> lines(Frame frame) throws ToolException, UnreachableException {
        var code = frame.at(0);
        if (code.equals(HUNG)) {
            backoff.hung(GpuQuery.PROCESSES);
        }
        if (code.equals(HUNG) || code.equals("124")) {
            throw new ToolException("nvidia-smi did not exit within %s s".formatted(frame.at(1)));
        }
        if (code.equals("long")) {
            throw new ToolException("nvidia-smi printed more than %d bytes".formatted(1 << 20));
        }
        if (code.equals("killed")) {
            throw new ToolException("nvidia-smi was killed");
        }
        if (code.equals("lost")) {
            throw new ToolException("nvidia-smi was aborted");
        }
        backoff.answered(GpuQuery.PROCESSES);
        return GpuQuery.lines((int) frame.number(0), text(frame), "");
    }
}
