package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.observation.MissingPrivilege;
import dev.genv.enforcer.remote.AgentConfig;
import java.util.ArrayList;
import java.util.List;

/** What the login on a host lacks of what we need there. */
final class RemotePrivileges {
    // Bits of linux/capability.h.
    private static final int CAP_DAC_OVERRIDE = 1;
    private static final int CAP_DAC_READ_SEARCH = 2;
    private static final int CAP_KILL = 5;
    private static final int CAP_SYS_PTRACE = 19;

    /** PROC_PID_INIT_INO of linux/proc_ns.h: the inode of the first PID namespace, fixed in the kernel. */
    private static final String FIRST_PID_NAMESPACE = "pid:[4026531836]";

    private static final String HOW = "log in as root, or let sudo give it";
    private static final String READ = "the environment variables of other users' processes cannot be read: " + HOW;

    private final AgentConfig config;
    private final long capabilities;
    private final boolean firstNamespace;
    private final boolean stateIsWritable;

    RemotePrivileges(AgentConfig config, Frames frames) throws UnreachableException {
        this.config = config;
        var me = frames.one("me");
        capabilities = capabilities(me.at(2));
        firstNamespace = me.at(3).equals(FIRST_PID_NAMESPACE);
        var directory = frames.one("directory").at(0);
        // A user's own mount there is a problem of its own, which is reported as state_user_mount.
        stateIsWritable = directory.equals("absent")
                || directory.equals("mounted")
                || frames.one("writable").at(0).equals("yes");
    }

    /** Whether the service is in another PID namespace: there the driver's pids belong to other processes. */
    boolean isOutsideHostPid() {
        return config.requireHostPid() && !firstNamespace;
    }

    List<MissingPrivilege> missing() {
        var missing = new ArrayList<MissingPrivilege>();
        if (isOutsideHostPid()) {
            missing.add(
                    new MissingPrivilege(
                            "HOST_PID",
                            "this login is not in the host's PID namespace, so the pids of GPU processes refer to other processes there: log in on the host itself, not in a container"));
        }
        if (!has(CAP_SYS_PTRACE)) {
            missing.add(new MissingPrivilege("SYS_PTRACE", READ));
        }
        if (!has(CAP_DAC_READ_SEARCH) && !has(CAP_DAC_OVERRIDE)) {
            missing.add(new MissingPrivilege("DAC_READ_SEARCH", READ));
        }
        if (config.acts() && config.signals() && !has(CAP_KILL)) {
            missing.add(new MissingPrivilege("KILL", "processes of other users cannot be signalled: " + HOW));
        }
        if (config.acts() && !stateIsWritable) {
            missing.add(new MissingPrivilege(
                    "STATE_WRITE",
                    "%s cannot be written on the machine, so nothing can be detached: set its mode to 0777"
                            .formatted(config.stateDirectory())));
        }
        return missing;
    }

    private boolean has(int bit) {
        return (capabilities >>> bit & 1) == 1;
    }

    private static long capabilities(String hexadecimal) {
        return hexadecimal.matches("[0-9a-f]{1,16}") ? Long.parseUnsignedLong(hexadecimal, 16) : 0;
    }
}
