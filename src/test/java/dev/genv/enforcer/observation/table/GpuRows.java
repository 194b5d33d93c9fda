package dev.genv.enforcer.observation.table;

import static dev.genv.enforcer.model.SnapshotPart.ATTACHMENTS;
import static dev.genv.enforcer.model.SnapshotPart.EVERY_PROCESS;
import static dev.genv.enforcer.model.SnapshotPart.PROCESSES;
import static dev.genv.enforcer.observation.table.FactRow.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
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
            row("access to the GPUs that was lost", _ -> {})
                    .then(machine -> machine.listProcesses("Failed to initialize NVML: Unknown Error\n", 255))
                    .problem("GPU_NEEDS_NEW_CONTAINER: nvidia-smi exited with 255: Failed to initialize NVML: Unknown"
                            + " Error: this container has lost its access to the GPUs, as systemctl daemon-reload"
                            + " takes it away, and must be recreated; on a plain host, load the driver again or"
                            + " reboot")
                    .missing(PROCESSES),
            row("a GPU that is no longer listed", _ -> {})
                    .then(machine -> {
                        machine.listProcesses("", 0);
                        machine.listDevices("0, GPU-0, 16384\n", 0);
                    })
                    .problem("GPU_LOST: nvidia-smi listed 1 GPU(s) before that it does not list now (1: GPU-1): reset"
                            + " the GPU or reboot; if it was removed on purpose, restart genv-enforcer")
                    .missing(EVERY_PROCESS),
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
