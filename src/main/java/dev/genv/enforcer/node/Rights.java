package dev.genv.enforcer.node;

import dev.genv.enforcer.observation.MissingRight;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** What the service needs on this machine, and whether it has it. */
final class Rights {
    // Bits of linux/capability.h.
    private static final int CAP_DAC_OVERRIDE = 1;
    private static final int CAP_DAC_READ_SEARCH = 2;
    private static final int CAP_KILL = 5;
    private static final int CAP_SYS_PTRACE = 19;

    /** The profiles that container engines put upon everything that asks for no other. */
    private static final Pattern APPARMOR_OF_A_CONTAINER = Pattern.compile(
            "(docker-default|cri-containerd\\.apparmor\\.d|crio-default|containers-default-\\S*) \\(enforce\\)");

    private final ProcFs proc;
    private final Needs needs;
    private final List<MissingRight> lasting = new ArrayList<>();

    /**
     * What the service is to do.
     *
     * @param hostPid whether the pids of the GPU tool must mean the same to us
     * @param signals whether processes are ended
     * @param detaches whether the state is changed
     */
    record Needs(boolean hostPid, boolean signals, boolean detaches, Path stateDirectory) {}

    Rights(ProcFs proc, Needs needs) {
        this.proc = proc;
        this.needs = needs;
        // A process may give up capabilities, but it never gets new ones: once is enough.
        var capabilities = proc.machine().effectiveCapabilities();
        if (!has(capabilities, CAP_SYS_PTRACE)) {
            lack(
                    "SYS_PTRACE",
                    "the environments of other users' processes cannot be read: run as root with --cap-add SYS_PTRACE");
        }
        if (!has(capabilities, CAP_DAC_READ_SEARCH) && !has(capabilities, CAP_DAC_OVERRIDE)) {
            lack(
                    "DAC_READ_SEARCH",
                    "the environments of other users' processes cannot be read: run as root with --cap-add DAC_READ_SEARCH");
        }
        if (needs.signals && !has(capabilities, CAP_KILL)) {
            lack("KILL", "processes of other users cannot be signalled: run as root with --cap-add KILL");
        }
        var profile = APPARMOR_OF_A_CONTAINER.matcher(proc.machine().securityLabel());
        if (profile.matches()) {
            lack(
                    "APPARMOR",
                    "the profile %s keeps other processes from being read and signalled: run with --security-opt apparmor=unconfined"
                            .formatted(profile.group(1)));
        }
    }

    /** What is missing at this moment. */
    List<MissingRight> missing() {
        var missing = new ArrayList<>(missingElsewhere());
        if (needs.detaches
                && Files.exists(needs.stateDirectory, LinkOption.NOFOLLOW_LINKS)
                && !Files.isWritable(needs.stateDirectory)) {
            missing.add(new MissingRight(
                    "STATE_WRITE",
                    "%s cannot be written, so nothing can be detached: mount it writable, with mode 0777"
                            .formatted(needs.stateDirectory)));
        }
        return missing;
    }

    /** The same without a look at the state directory, which need not answer. */
    List<MissingRight> missingElsewhere() {
        var missing = new ArrayList<MissingRight>();
        if (isOutsideHostPid()) {
            missing.add(
                    new MissingRight(
                            "HOST_PID",
                            "this is not the host's PID namespace, so the pids of GPU processes mean others here: run with --pid=host"));
        }
        missing.addAll(lasting);
        return missing;
    }

    /** In another PID namespace the driver's pids are those of other processes, and the wrong ones would be ended. */
    boolean isOutsideHostPid() {
        return needs.hostPid && !proc.machine().isFirstPidNamespace();
    }

    private void lack(String name, String advice) {
        lasting.add(new MissingRight(name, advice));
    }

    private static boolean has(long capabilities, int bit) {
        return (capabilities >>> bit & 1) == 1;
    }
}
