package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.observation.MissingPrivilege;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** The privileges that the service needs on this machine, and which ones are missing. */
public final class Privileges {
    // Bits of linux/capability.h.
    private static final int CAP_DAC_OVERRIDE = 1;
    private static final int CAP_DAC_READ_SEARCH = 2;
    private static final int CAP_KILL = 5;
    private static final int CAP_SYS_PTRACE = 19;

    /** The default profiles of container engines. */
    private static final Pattern APPARMOR_OF_A_CONTAINER = Pattern.compile(
            "(docker-default|cri-containerd\\.apparmor\\.d|crio-default|containers-default-\\S*) \\(enforce\\)");

    private final ProcFs proc;
    private final Needs needs;
    private final List<MissingPrivilege> lasting = new ArrayList<>();

    /**
     * What the service does.
     *
     * @param hostPid whether the service must be in the PID namespace of the GPU tool
     * @param signals whether processes are terminated
     * @param detaches whether devices are detached
     */
    public record Needs(boolean hostPid, boolean signals, boolean detaches, Path stateDirectory) {}

    public Privileges(ProcFs proc, Needs needs) {
        this.proc = proc;
        this.needs = needs;
        // A process may drop capabilities but never gains new ones, so one check is enough.
        var capabilities = proc.machine().effectiveCapabilities();
        if (!has(capabilities, CAP_SYS_PTRACE)) {
            addMissing(
                    "SYS_PTRACE",
                    "the environment variables of other users' processes cannot be read: run as root with --cap-add SYS_PTRACE");
        }
        if (!has(capabilities, CAP_DAC_READ_SEARCH) && !has(capabilities, CAP_DAC_OVERRIDE)) {
            addMissing(
                    "DAC_READ_SEARCH",
                    "the environment variables of other users' processes cannot be read: run as root with --cap-add DAC_READ_SEARCH");
        }
        if (needs.signals && !has(capabilities, CAP_KILL)) {
            addMissing("KILL", "processes of other users cannot be signalled: run as root with --cap-add KILL");
        }
        var profile = APPARMOR_OF_A_CONTAINER.matcher(proc.machine().securityLabel());
        if (profile.matches()) {
            addMissing(
                    "APPARMOR",
                    "the profile %s prevents reading and signalling other processes: run with --security-opt apparmor=unconfined"
                            .formatted(profile.group(1)));
        }
    }

    /** Returns the privileges that are missing at this moment. */
    public List<MissingPrivilege> missing() {
        var missing = new ArrayList<>(missingElsewhere());
        if (needs.detaches
                && Files.exists(needs.stateDirectory, LinkOption.NOFOLLOW_LINKS)
                && !Files.isWritable(needs.stateDirectory)) {
            missing.add(new MissingPrivilege(
                    "STATE_WRITE",
                    "%s cannot be written, so nothing can be detached: mount it writable, with mode 0777"
                            .formatted(needs.stateDirectory)));
        }
        return missing;
    }

    /** The same without a check of the state directory, which may not answer. */
    public List<MissingPrivilege> missingElsewhere() {
        var missing = new ArrayList<MissingPrivilege>();
        if (isOutsideHostPid()) {
            missing.add(
                    new MissingPrivilege(
                            "HOST_PID",
                            "this is not the host's PID namespace, so the pids of GPU processes refer to other processes here: run with --pid=host"));
        }
        missing.addAll(lasting);
        return missing;
    }

    /** Whether the service is in another PID namespace: there the driver's pids belong to other processes. */
    public boolean isOutsideHostPid() {
        return needs.hostPid && !proc.machine().isFirstPidNamespace();
    }

    private void addMissing(String name, String advice) {
        lasting.add(new MissingPrivilege(name, advice));
    }

    private static boolean has(long capabilities, int bit) {
        return (capabilities >>> bit & 1) == 1;
    }
}
