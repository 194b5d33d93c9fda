package dev.genv.enforcer.observation.table;

import static dev.genv.enforcer.model.SnapshotPart.EVERY_PROCESS;
import static dev.genv.enforcer.model.SnapshotPart.PROCESSES;
import static dev.genv.enforcer.observation.table.FactRow.row;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.util.List;

/** What the GPU tool answers. */
final class GpuRows {
    static final List<FactRow> ROWS = List.of(
            row("a process on a device", _ -> {})
                    .check(seen -> assertThat(seen.processes()).hasSize(1)),
            row(
                            "lines of another form, and several of a process",
                            machine -> machine.listProcesses(
                                    "garbage\nGPU-0, 0812, 5\nGPU-0, 4294968108, 5\nGPU-1, 812, [N/A]\nGPU-0, 812, 5\nGPU-0, 812, 8\n",
                                    0))
                    .problem("GPU_LINE_UNREADABLE: nvidia-smi printed: garbage")
                    .problem("GPU_LINE_UNREADABLE: nvidia-smi printed: GPU-0, 0812, 5")
                    .problem("GPU_LINE_UNREADABLE: nvidia-smi printed: GPU-0, 4294968108, 5")
                    .missing(EVERY_PROCESS)
                    .check(seen ->
                            assertThat(seen.processes().getFirst().devices()).containsExactly(0, 1)),
            row(
                            "a warning beside complete lines",
                            machine -> machine.listProcesses("GPU-0, 812, 5\nWARNING: infoROM is corrupted\n", 14))
                    .problem("GPU_TOOL_WARNING: nvidia-smi exited with 14: WARNING: infoROM is corrupted")
                    .check(seen -> assertThat(seen.processes()).hasSize(1)),
            row(
                            "lines of some GPUs before the failure of another",
                            machine -> machine.listProcesses(
                                    "GPU-0, 812, 5\nUnable to determine the device handle for GPU1: Unknown Error\n",
                                    255))
                    .problem("GPU_LOST: nvidia-smi exited with 255: Unable to determine the device handle for GPU1:"
                            + " Unknown Error: the processes on that GPU are unknown; reset it or reboot")
                    .missing(PROCESSES),
            row(
                            "memory that the driver does not report",
                            machine -> machine.listDevices("0, GPU-0, 1542\n1, GPU-1, [N/A]\n", 0))
                    .check(seen -> assertThat(seen.unexplained().unknown()).containsExactly(1)),
            row(
                            "memory that belongs to no listed process",
                            machine -> machine.listDevices("0, GPU-0, 1542\n1, GPU-1, 4096\n", 0))
                    .thenUnchanged(2)
                    .problem(
                            "UNEXPLAINED_MEMORY: 4096 MiB on GPU 1 belong to no listed process; `fuser -v /dev/nvidia1` shows which"
                                    + " processes hold the GPU")
                    .check(seen -> assertThat(seen.unexplained().memory()).containsOnlyKeys(1)),
            row("memory of a process that has exited, and another process with its pid", machine -> {
                        machine.listProcesses("GPU-0, 900, 9000\n", 0);
                        machine.listDevices("0, GPU-0, 9000\n1, GPU-1, 0\n", 0);
                    })
                    .thenUnchanged(3)
                    .then(machine -> machine.process(900, DescribedMachine.BOB).startTime(1))
                    .problem(
                            "PID_REUSED: process 900 of uid 1004 (python) was started after its pid was listed: the listed"
                                    + " process has exited")
                    .problem(
                            "UNEXPLAINED_MEMORY: 9000 MiB on GPU 0 belong to no listed process; `fuser -v /dev/nvidia0` shows which"
                                    + " processes hold the GPU")
                    .check(seen -> assertThat(seen.processes()).isEmpty()),
            row("no program", machine -> Files.delete(machine.tool.path()))
                    .problem("GPU_TOOL_FAILED: FOLDER/bin/nvidia-smi is not a program")
                    .missing(PROCESSES),
            row(
                            "a program that others can write",
                            machine -> Files.setAttribute(machine.tool.path(), "unix:mode", 0777))
                    .problem("GPU_TOOL_FAILED: FOLDER/bin/nvidia-smi is not used: others can write"
                            + " FOLDER/bin/nvidia-smi")
                    .missing(PROCESSES),
            row("a program of a user", machine -> Files.setAttribute(machine.tool.path(), "unix:uid", 1003))
                    .problem("GPU_TOOL_FAILED: FOLDER/bin/nvidia-smi is not used: FOLDER/bin/nvidia-smi belongs to user"
                            + " 1003")
                    .missing(PROCESSES));

    private GpuRows() {}
}
