package dev.genv.enforcer.observation.table;

import static dev.genv.enforcer.model.SnapshotPart.ATTACHMENTS;
import static dev.genv.enforcer.model.SnapshotPart.EVERY_PROCESS;
import static dev.genv.enforcer.model.SnapshotPart.PROCESSES;
import static dev.genv.enforcer.observation.table.FactRow.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.Memory;
import java.nio.file.Files;
import java.util.List;

/** What the GPU tool answers. */
final class GpuRows {
    private static final String BOTH = "0, GPU-0, 16384\n1, GPU-1, 16384\n";

    static final List<FactRow> ROWS = List.of(
            row("a process on a device", _ -> {})
                    .check(seen -> assertThat(seen.processes()).hasSize(1)),
            row("no process", machine -> machine.listProcesses("", 0)),
            row("a process on two devices", machine -> machine.listProcesses("GPU-0, 812, 5\nGPU-1, 812, 7\n", 0))
                    .check(seen ->
                            assertThat(seen.processes().getFirst().devices()).containsExactly(0, 1)),
            row("unknown memory", machine -> machine.listProcesses("GPU-0, 812, [N/A]\n", 0))
                    .check(seen ->
                            assertThat(seen.processes().getFirst().memoryOn(0)).isNull()),
            row("memory that is no number", machine -> machine.listProcesses("GPU-0, 812, -1\n", 0))
                    .check(seen ->
                            assertThat(seen.processes().getFirst().memoryOn(0)).isNull()),
            row("several lines of a process", machine -> machine.listProcesses("GPU-0, 812, 5\nGPU-0, 812, 8\n", 0))
                    .check(seen ->
                            assertThat(seen.processes().getFirst().memoryOn(0)).isEqualTo(Memory.ofMebibytes(13))),
            row(
                            "several lines of a process, one without a number",
                            machine -> machine.listProcesses("GPU-0, 812, 5\nGPU-0, 812, [N/A]\n", 0))
                    .check(seen ->
                            assertThat(seen.processes().getFirst().memoryOn(0)).isNull()),
            row("a process on one of two lost GPUs", machine -> {
                        machine.listDevices("0, [GPU is lost], 1\n1, [GPU is lost], 1\n", 0);
                        machine.listProcesses("[GPU is lost], 812, 5\n", 0);
                    })
                    .problem("GPU_LOST: nvidia-smi printed: 0, [GPU is lost], 1: the processes on that GPU are unknown;"
                            + " reset it or reboot")
                    .problem("GPU_LOST: nvidia-smi printed: 1, [GPU is lost], 1: the processes on that GPU are unknown;"
                            + " reset it or reboot")
                    .problem("DEVICE_UNKNOWN: nvidia-smi lists process 812 on [GPU is lost], which is none of its"
                            + " devices")
                    .missing(EVERY_PROCESS)
                    .check(seen -> assertThat(seen.processes()).isEmpty()),
            row("no device", machine -> {
                        machine.listProcesses("No devices were found\n", 6);
                        machine.listDevices("No devices were found\n", 6);
                    })
                    .problem("GPU_LOST: nvidia-smi lists no device, but active environments are attached to [0]: reset"
                            + " the GPUs or reboot; if there are none, detach the environments")
                    .missing(EVERY_PROCESS),
            row("no device, and no active environment", machine -> {
                        machine.listProcesses("No devices were found\n", 6);
                        machine.listDevices("No devices were found\n", 6);
                        machine.envs(DescribedMachine.env("a", DescribedMachine.ALICE, "alice", "4000000"));
                    })
                    .check(seen -> assertThat(seen.listedDevices()).isEmpty()),
            row("devices only at the second query", machine -> machine.listProcesses("No devices were found\n", 6))
                    .problem("GPU_TOOL_FAILED: nvidia-smi found no devices at first, and then 2")
                    .missing(PROCESSES),
            row(
                            "a hidden process on a MIG device",
                            machine -> machine.listProcesses(
                                    "GPU-0, [Insufficient Permissions], [Insufficient Permissions]\n", 0))
                    .problem("GPU_PROCESS_HIDDEN: nvidia-smi printed: GPU-0, [Insufficient Permissions], [Insufficient"
                            + " Permissions]: a process on a MIG device is hidden from an unprivileged container")
                    .missing(EVERY_PROCESS),
            row("a process on an unknown device", machine -> machine.listProcesses("MIG-1, 812, 9\n", 0))
                    .problem("DEVICE_UNKNOWN: nvidia-smi lists process 812 on MIG-1, which is none of its devices")
                    .missing(EVERY_PROCESS),
            row("an invalid line", machine -> machine.listProcesses("garbage\nGPU-0, 812, 5\n", 0))
                    .problem("GPU_LINE_UNREADABLE: nvidia-smi printed: garbage")
                    .missing(EVERY_PROCESS),
            row("a lost GPU", machine -> machine.listDevices("0, GPU-0, 1\n1, [GPU is lost], [GPU is lost]\n", 0))
                    .problem("GPU_LOST: nvidia-smi printed: 1, [GPU is lost], [GPU is lost]: the processes on that GPU"
                            + " are unknown; reset it or reboot")
                    .missing(EVERY_PROCESS),
            row(
                            "two devices with one UUID",
                            machine -> machine.listDevices("0, GPU-0, 1\n1, GPU-1, 1\n2, GPU-1, 1\n", 0))
                    .problem("GPU_LINE_UNREADABLE: nvidia-smi names a device twice: 2, GPU-1, 1")
                    .missing(EVERY_PROCESS),
            row("no driver", machine -> machine.listProcesses("NVIDIA-SMI has failed\n", 9))
                    .problem("GPU_TOOL_FAILED: nvidia-smi exited with 9: NVIDIA-SMI has failed")
                    .missing(PROCESSES),
            row(
                            "access to the GPUs that never worked",
                            machine -> machine.listProcesses("Failed to initialize NVML: Unknown Error\n", 255))
                    .problem("GPU_ACCESS_DENIED: nvidia-smi exited with 255: Failed to initialize NVML: Unknown Error:"
                            + " this container has had no access to the GPUs since the service was started: set"
                            + " no-cgroups = false in /etc/nvidia-container-runtime/config.toml and restart the"
                            + " engine, or give it the devices with --device; under a rootless engine, use one"
                            + " that runs as root")
                    .missing(PROCESSES),
            row("access to the GPUs that was lost", _ -> {})
                    .then(machine -> machine.listProcesses("Failed to initialize NVML: Unknown Error\n", 255))
                    .problem("GPU_NEEDS_NEW_CONTAINER: nvidia-smi exited with 255: Failed to initialize NVML: Unknown"
                            + " Error: this container has lost its access to the GPUs, as systemctl daemon-reload"
                            + " takes it away, and must be recreated; on a plain host, load the driver again or"
                            + " reboot")
                    .missing(PROCESSES),
            row(
                            "no handle of a GPU",
                            machine -> machine.listDevices(
                                    "Unable to determine the device handle for GPU0: Unknown Error\n", 15))
                    .problem("GPU_LOST: nvidia-smi exited with 15: Unable to determine the device handle for GPU0:"
                            + " Unknown Error: the processes on that GPU are unknown; reset it or reboot")
                    .missing(PROCESSES),
            row("a GPU that is no longer listed", _ -> {})
                    .then(machine -> {
                        machine.listProcesses("", 0);
                        machine.listDevices("0, GPU-0, 16384\n", 0);
                    })
                    .problem("GPU_LOST: nvidia-smi listed 1 GPU(s) before that it does not list now (1: GPU-1): reset"
                            + " the GPU or reboot; if it was removed on purpose, restart genv-enforcer")
                    .missing(EVERY_PROCESS),
            row("a GPU that is listed again", machine -> machine.listDevices(BOTH, 0))
                    .then(machine -> {
                        machine.listProcesses("", 0);
                        machine.listDevices("0, GPU-0, 16384\n", 0);
                    })
                    .then(machine -> machine.listDevices(BOTH, 0)),
            row("a process that holds a GPU without being listed", machine -> {
                        machine.listDevices("0, GPU-0, 1542\n1, GPU-1, 4096\n", 0);
                        machine.process(900, DescribedMachine.BOB);
                        machine.driver("GPU-1");
                        machine.holdsGpu(900);
                    })
                    .thenUnchanged(3)
                    .problem("GPU_UNLISTED: process 900 of uid 1004 (python) holds device 1, but is not listed; 4096"
                            + " MiB on device 1 belong to no listed process")
                    .check(seen -> assertThat(seen.unlisted().processes()).hasSize(1)),
            row("a process that holds a GPU and has overwritten its environ", machine -> {
                        machine.listDevices("0, GPU-0, 1542\n1, GPU-1, 4096\n", 0);
                        machine.process(901, DescribedMachine.BOB, "GENV_ENVIRONMENT_ID=a");
                        machine.process(900, DescribedMachine.BOB, "HOME=/")
                                .overwrite()
                                .parent(901);
                        machine.driver("GPU-1");
                        machine.holdsGpu(900);
                    })
                    .thenUnchanged(3)
                    .problem("GPU_UNLISTED: process 900 of uid 1004 (python) holds device 1, but is not listed; 4096"
                            + " MiB on device 1 belong to no listed process")
                    .check(seen -> assertThat(seen.unlisted().processes())
                            .singleElement()
                            .satisfies(process -> {
                                assertThat(process.membership()).isEqualTo(new Membership.InEnvironment("a"));
                                assertThat(process.membershipBy()).isEqualTo(MembershipSource.ANCESTOR);
                            })),
            row("used memory that no process explains", machine -> {
                        machine.listDevices("0, GPU-0, 1542\n1, GPU-1, 4096\n", 0);
                        machine.driver("GPU-1");
                    })
                    .thenUnchanged(3)
                    .problem("GPU_UNLISTED: 4096 MiB on device 1 belong to no listed process, and no process was found"
                            + " that holds it, except protected programs"),
            row("GPUs with other indices", _ -> {})
                    .then(machine -> {
                        machine.listProcesses("", 0);
                        machine.listDevices("0, GPU-1, 16384\n1, GPU-0, 16384\n", 0);
                    })
                    .problem("DEVICES_MOVED: the GPUs have other indices than before ({0=1, 1=0}), so it is unknown"
                            + " which GPUs genv's attachments mean: detach all devices in devices.json and restart"
                            + " genv-enforcer, or restore the missing GPU")
                    .missing(ATTACHMENTS),
            row("a pid that is no number", machine -> machine.listProcesses("GPU-0, 0812, 5\n", 0))
                    .problem("GPU_LINE_UNREADABLE: nvidia-smi printed: GPU-0, 0812, 5")
                    .missing(EVERY_PROCESS),
            row("a pid that is too long", machine -> machine.listProcesses("GPU-0, 4294968108, 5\n", 0))
                    .problem("GPU_LINE_UNREADABLE: nvidia-smi printed: GPU-0, 4294968108, 5")
                    .missing(EVERY_PROCESS),
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
