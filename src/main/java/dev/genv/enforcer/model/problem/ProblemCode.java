package dev.genv.enforcer.model.problem;

import static dev.genv.enforcer.model.problem.ProblemConsequence.*;

import java.util.Locale;
import java.util.Optional;

/** The kind of a problem. Programs match the {@link #label}; the reference page of all problems is generated from this. */
public enum ProblemCode {
    STATE_UNREADABLE(STATE_RULES_STOP, """
            The service cannot read `envs.json` or `devices.json`, or the content is not in genv's format. It reads no file of more than 6 MiB (3 MiB over SSH), or whose content needs more than 24 MiB of memory.
            See the detail: it names the file and the reason. genv itself usually fails on the same file."""),
    STATE_INCOMPLETE(STATE_RULES_STOP, """
            `envs.json` or `devices.json` is missing although the other file shows that genv is in use.
            Find out who removed the file."""),
    STATE_TIMEOUT(NO_RULE_ACTS, """
            The file system of the state directory does not answer in time.
            Check the file system that the detail names."""),
    STATE_USER_MOUNT(NO_RULE_ACTS, """
            A user has mounted a file system (FUSE) over the state directory or in it. The service touches nothing there.
            Unmount it with `umount -l` and terminate the process that serves it. The detail names the user."""),
    STATE_DIRECTORY_MOVED(NO_RULE_ACTS, """
            The container's mount leads to a directory that the host no longer has at that path.
            Recreate the container."""),
    STATE_DIRECTORY_REPLACED(REPORTED_ONLY, """
            The state directory was removed, or is another one than at the previous observation. What genv recorded in the former one is not visible.
            Find out who replaced it. Users of genv may still work in the former one."""),
    LOCK_TIMEOUT(NOTHING_DETACHED, """
            Another program held `genv.lock` for longer than `GENV_ENFORCER_LOCK_TIMEOUT`.
            The detail names the process if the kernel reports it. If that process hangs, terminate it."""),
    LOCK_UNUSABLE(NOTHING_DETACHED, """
            `genv.lock` cannot be locked: it is not a regular file, cannot be opened, or is replaced again and again.
            Remove what is in its place. genv makes a new file."""),
    SECOND_ENFORCER(READ_ONLY, """
            Another enforcer acts on this state directory.
            Run one enforcer for each machine."""),
    ENFORCER_LOCK_UNUSABLE(REPORTED_ONLY, """
            The service cannot find out whether another enforcer acts on this state directory, because its lock file `.genv-enforcer.lock` cannot be used.
            Remove what is in its place."""),
    ENTRY_UNREADABLE(ENTRY_IGNORED, """
            A part of an entry of a state file makes no sense, or the entry exists twice.
            See the detail. Any user can write such an entry."""),
    CAPACITY_UNREADABLE(MEMORY_NOT_CHECKED, """
            The memory capacity of an environment is not an amount of memory.
            The owner sets a new one, such as `genv config gpu-memory 4g`."""),
    ENVIRONMENT_USER_UNKNOWN(
            QUOTA_NOT_COUNTED,
            "An environment has no user name, and no uid other than 0. genv's own container toolkit records environments in this way."),
    QUOTA_UNDECIDED(QUOTA_NOT_ENFORCED, """
            A user has held too many devices since before the service was started. Only the times in `devices.json`, which every user can write, show which device came last.
            The user or an administrator detaches one of the devices."""),
    KERNELS_UNKNOWN(KERNELS_COUNT_AS_ACTIVE, """
            The service cannot search all processes for Jupyter kernels: the arguments of a process cannot be read, or the search reaches its limit.
            If the detail names a process that hangs, terminate it."""),
    MORE_DISPUTES(NOT_ALL_LISTED, """
            More than 100 environments are disputed, or more than 100 processes name an environment of another user.
            Find out who wrote `envs.json`."""),
    MORE_PROBLEMS(NOT_ALL_LISTED, """
            The machine has more than 100 problems.
            Solve the listed ones first."""),
    GPU_TOOL_FAILED(PROCESSES_NOT_CHECKED, """
            nvidia-smi is missing, is not trusted, fails, is killed, takes too long, or prints too much; or NVML fails, does not answer, or gives answers that cannot be trusted.
            Run nvidia-smi on the machine. The detail gives its first line or the reason."""),
    GPU_LOST(GPUS_SKIPPED, """
            nvidia-smi or NVML reports a lost GPU, no longer lists a GPU that it listed before, or lists none although active environments are attached to some.
            Reset the GPU or reboot. If the GPU was removed on purpose, restart the service."""),
    GPU_NEEDS_NEW_CONTAINER(CONTAINER_RECREATED, """
            NVML does not let the container use the GPUs any more, as after `systemctl daemon-reload`.
            Recreate the container. On a plain host, load the driver again or reboot."""),
    GPU_ACCESS_DENIED(GPUS_SKIPPED, """
            The driver is there, but it has not let the container use the GPUs since the service was started. A new container would not help, so liveness does not fail.
            Set `no-cgroups = false` in `/etc/nvidia-container-runtime/config.toml` and restart the engine, or give the container the devices with `--device`. Under a rootless engine, use one that runs as root."""),
    GPU_SOURCES_DIFFER(REPORTED_ONLY, """
            NVML and nvidia-smi listed different devices or processes, three times in a row. The service does not trust NVML until it is restarted.
            Report it as a bug with the version of the driver. With `GENV_ENFORCER_GPU_SOURCE=nvidia-smi` the service does not try NVML."""),
    GPU_LINE_UNREADABLE(PROCESSES_SKIPPED, """
            The service does not understand a line of nvidia-smi, or an answer of NVML.
            If the line is not garbage of a broken driver, report it as a bug."""),
    GPU_PROCESS_HIDDEN(PROCESSES_SKIPPED, """
            nvidia-smi or NVML hides a process on a MIG device from a container that is not privileged.
            Run the container privileged on machines with MIG."""),
    DEVICE_UNKNOWN(PROCESSES_SKIPPED, "nvidia-smi or NVML lists a process on a device that it does not list."),
    DEVICES_MOVED(ATTACHMENT_RULES_STOP, """
            A GPU is gone and others have taken its index, so genv's attachments may mean other GPUs.
            Bring the GPU back; or detach what `devices.json` lists and restart the service."""),
    DEVICE_UNDESCRIBED(DEVICE_NOT_CHECKED, """
            nvidia-smi lists a device that `devices.json` lacks.
            Let genv write the file again with `genv devices --reset`, which removes all attachments."""),
    DEVICE_UNLISTED(REPORTED_ONLY, """
            An active environment is attached to a device that nvidia-smi does not list. Any user can write such an attachment.
            If a GPU is gone, repair it; otherwise detach the environment."""),
    DEVICE_STATUS_UNKNOWN(REPORTED_ONLY, """
            nvidia-smi does not answer the query for the memory, the temperature and the utilization of the GPUs, which only metrics and the page show. They lack these values while the problem lasts.
            Run the query of the detail on the machine. Without persistence mode nvidia-smi may be too slow. `GENV_ENFORCER_GENV_METRICS=off` disables the query."""),
    PROC_UNREADABLE(NO_RULE_ACTS, """
            The service cannot read `/proc`.
            Check that the container shares the PID namespace of the host, and that `/proc` is mounted."""),
    PROCESS_UNREADABLE(PROCESSES_SKIPPED, """
            The service cannot read what the kernel knows of a process on a GPU.
            See the detail."""),
    PROCESSES_UNREAD(PROCESSES_WAIT, """
            No time or no reader was left for the environment variables of some processes on GPUs: a user has many processes whose memory is large, answers slowly, or does not answer. The users take turns, so those of other users are mostly read. The waiting ones are read first in the next cycle.
            The detail names a process. See `membership_unknown` for processes that do not answer, and terminate these."""),
    PID_REUSED(PROCESS_SKIPPED, """
            The driver still lists a process that has exited, because another process holds its files of the driver, and a later process has its pid.
            See `gpu_unlisted` for the process that holds them. If there is none, reset the GPU."""),
    MEMBERSHIP_UNKNOWN(PROCESS_SKIPPED, """
            The service cannot determine to which environment a process belongs. The detail gives the reason.
            With genv's Python SDK and Ray this is normal. Otherwise see the reason."""),
    GPU_UNLISTED(REPORTED_ONLY, """
            More of a GPU's memory is used than the listed processes explain. The detail names a process that holds the GPU's device file, if one was found.
            If the process should not run, stop it. Without a process, reset the GPU."""),
    MEMORY_UNKNOWN(MEMORY_NOT_CHECKED, "The GPU driver does not report how much memory a process uses."),
    TERMINATION_LIMIT_REACHED(TERMINATIONS_WAIT, """
            More processes are to be terminated than `GENV_ENFORCER_MAX_TERMINATIONS_PER_CYCLE` allows for one cycle.
            If they are not what you expect, set `GENV_ENFORCER_MODE=audit` and look at the violations."""),
    MISSING_PRIVILEGE(PRIVILEGE_NEEDED, """
            The service lacks a privilege. The detail names it, and says how to grant it.
            Grant it, and restart the service."""),
    PROTECTED_UNUSABLE(PROTECTION_UNCERTAIN, """
            A protected program cannot be used: its file is missing, cannot be examined, or can be written by others than root.
            Correct the path or the file's permissions, or remove it from `GENV_ENFORCER_PROTECTED_EXECUTABLES`."""),
    SETTING_USER_UNKNOWN(SETTING_IGNORED, """
            A setting names a user who is not in the machine's `/etc/passwd`.
            Set the uid in place of the name."""),
    PASSWD_UNREADABLE(ACCOUNTS_OUTDATED, """
            The service cannot read the machine's `/etc/passwd` or `/etc/subuid`.
            Check the file's permissions and size."""),
    PROTECTION_UNKNOWN(NO_EXEMPTIONS, """
            genv's own protocol reports neither the program nor the user of a process.
            Set `GENV_ENFORCER_REMOTE_AGENT=python`."""),
    IDENTITIES_UNKNOWN(SAFEGUARDS_WEAKER, """
            genv's own protocol identifies processes by their pid alone.
            Set `GENV_ENFORCER_REMOTE_AGENT=python`."""),
    UNREACHABLE(MACHINE_UNREACHABLE, """
            The machine gave no answer in time, or observing it failed unexpectedly.
            See the detail and the log."""),
    BUSY(MACHINE_UNREACHABLE, """
            The machine still executes a command of an earlier cycle. The service leaves it out of this cycle.
            If this lasts, look for what hangs on the machine: nvidia-smi, or the file system of the state directory."""),
    DUPLICATE_HOST(COUNTED_ELSEWHERE, """
            Two names of the list lead to the same machine: machine-id and boot id are equal.
            Remove one of them from the list."""),
    DNS_FAILED(MACHINE_UNREACHABLE, """
            The machine's name has no address.
            Check the name and DNS."""),
    HOST_UNREACHABLE(MACHINE_UNREACHABLE, """
            The network, or the machine, refuses the connection.
            Check that the machine is up, that sshd runs, and that no firewall is in between."""),
    CONNECT_TIMEOUT(MACHINE_UNREACHABLE, """
            The connection or login takes longer than `GENV_ENFORCER_REMOTE_TIMEOUT`.
            Check the network and the machine's load."""),
    CONNECTION_LOST(MACHINE_UNREACHABLE, """
            The connection was lost before the login or during a command. The next cycle connects again.
            If this lasts, look at the log of sshd on the machine."""),
    SSH_FAILED(MACHINE_UNREACHABLE, """
            SSH failed in another way: the SSH configuration, the negotiation, or the opening of a channel.
            See the detail, and the log of sshd on the machine."""),
    AUTHENTICATION_FAILED(MACHINE_UNREACHABLE, """
            The machine refuses the key, or the service cannot read the key.
            Add the public key to `authorized_keys` of that user on the machine."""),
    HOST_KEY_UNKNOWN(MACHINE_UNREACHABLE, """
            The machine's host key is not in the file of known hosts.
            Compare the key on the machine (`ssh-keygen -lf`), then add the line of `ssh-keyscan`."""),
    HOST_KEY_CHANGED(MACHINE_UNREACHABLE, """
            The machine shows another host key than the known one, or a revoked one. An attacker may intercept the connection.
            If the key was changed on purpose, compare it on the machine and replace it in the file of known hosts."""),
    SUDO_REFUSED(MACHINE_UNREACHABLE, """
            sudo wants a password, or does not allow the command.
            Allow the command in sudoers with NOPASSWD. The detail gives the line."""),
    SUDO_MISSING(MACHINE_UNREACHABLE, """
            The machine has no sudo.
            Install it; or log in as root and set `GENV_ENFORCER_REMOTE_SUDO=false`."""),
    AGENT_MISSING(MACHINE_UNREACHABLE, """
            The machine lacks the program that the agent needs, or has one that is too old: `/usr/bin/python3` of Python 3.6 or newer, or genv.
            Install what the detail names."""),
    AGENT_FAILED(MACHINE_UNREACHABLE, """
            The agent's command ended with an error.
            See the detail: it gives the command's first line of output."""),
    AGENT_KILLED(MACHINE_UNREACHABLE, """
            A signal terminated the agent's command.
            Look for the OOM killer in the machine's kernel log."""),
    NO_EXIT_CODE(MACHINE_UNREACHABLE, """
            The agent's command ended without an exit code.
            Look at the log of sshd on the machine."""),
    NOTIFICATION_FAILED(REPORTED_ONLY, """
            Three attempts in a row to deliver messages or events failed. The detail names the kind of delivery and the reason.
            Check the mail server, the receiver of the webhook, or the privileges for terminals. [Messages](notifications.md) describes the settings."""),
    TIMEOUT(MACHINE_UNREACHABLE, """
            The agent's command did not end in time.
            Look for what hangs on the machine: nvidia-smi, or the file system of the state directory."""),
    ANSWER_TOO_LONG(MACHINE_UNREACHABLE, """
            The agent's command printed more than the service accepts.
            Log in as the same user and look at what the login prints."""),
    ANSWER_UNREADABLE(MACHINE_UNREACHABLE, """
            The output of the agent's command is not in the agent's format, or is cut off.
            Log in as the same user and look at what the login prints. The detail gives the beginning."""),
    JOURNAL_UNWRITABLE(MEMORY_ONLY, """
            The service cannot read or write its journal in `GENV_ENFORCER_JOURNAL_DIR`: the folder is missing, read-only or full, or its disk does not answer within 2 s, or within 30 s at the start.
            See the detail for the kernel's reason. It is reported for every machine, because the journal is about all of them."""),
    JOURNAL_FOREIGN(MEMORY_ONLY, """
            The folder of `GENV_ENFORCER_JOURNAL_DIR`, or a file of the journal in it, belongs to another user than root and the service's own, or others can write to it. The service does not touch it.
            Give the service a folder of its own, for example with `install -d -m 0700`."""),
    JOURNAL_LOCKED(MEMORY_ONLY, """
            Another service uses the same `GENV_ENFORCER_JOURNAL_DIR`.
            Give each service a folder of its own. Then restart this service. During an update, the start waits 30 s for the earlier service to stop."""),
    RECORDING_UNWRITABLE(REPORTED_ONLY, """
            The service cannot record its observations in `GENV_ENFORCER_JOURNAL_DIR`. `/report` and the replay of a policy count this time as not observed.
            See the detail for the reason. It is reported for every machine, because the recording is about all of them."""),
    JOURNAL_NOT_RESTORED(REPORTED_ONLY, """
            The service started without a part of what its earlier runs wrote to the journal; the detail names it. Without the pending terminations a process can get a second SIGTERM. It is reported in the first cycle.
            The log has the reason, which is an error of the service: report it.""");

    private final ProblemConsequence consequence;
    private final String meaning;
    private final String remedy;

    /** The first line of the text is the meaning, and the second one, if there is one, what an administrator can do. */
    ProblemCode(ProblemConsequence consequence, String text) {
        this.consequence = consequence;
        var lines = text.lines().toList();
        meaning = lines.getFirst();
        remedy = lines.size() > 1 ? lines.getLast() : "";
    }

    /** The name in JSON, metrics and the log, such as {@code state_unreadable}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Sentences for an administrator, with code in Markdown's backquotes. */
    public String meaning() {
        return meaning;
    }

    /** What the service does not do while the problem lasts. */
    public ProblemConsequence consequence() {
        return consequence;
    }

    /** What an administrator can do, in the same form; empty if there is nothing to do. */
    public Optional<String> remedy() {
        return Optional.of(remedy).filter(text -> !text.isEmpty());
    }
}
