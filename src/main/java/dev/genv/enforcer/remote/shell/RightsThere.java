package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.observation.MissingRight;
import dev.genv.enforcer.remote.Terms;
import java.util.ArrayList;
import java.util.List;

/** What the login on a host lacks of what we need there. */
final class RightsThere {
    // Bits of linux/capability.h.
    private static final int CAP_DAC_OVERRIDE = 1;
    private static final int CAP_DAC_READ_SEARCH = 2;
    private static final int CAP_KILL = 5;
    private static final int CAP_SYS_PTRACE = 19;

    /** PROC_PID_INIT_INO of linux/proc_ns.h: the inode of the first PID namespace, fixed in the kernel. */
    private static final String FIRST_PID_NAMESPACE = "pid:[4026531836]";

    private static final String HOW = "log in as root, or let sudo give it";
    private static final String READ = "the environments of other users' processes cannot be read: " + HOW;

    private final Terms terms;
    private final long capabilities;
    private final boolean firstNamespace;
    private final boolean stateIsWritable;

    RightsThere(Terms terms, Frames frames) throws UnreachableException {
        this.terms = terms;
        var me = frames.one("me");
        capabilities = capabilities(me.at(2));
        firstNamespace = me.at(3).equals(FIRST_PID_NAMESPACE);
        var directory = frames.one("directory").at(0);
        // A user's own mount there is a problem of its own, which is reported as state_user_mount.
        stateIsWritable = directory.equals("absent")
                || directory.equals("mounted")
                || frames.one("writable").at(0).equals("yes");
    }

    /** In another PID namespace the driver's pids are those of other processes, and the wrong ones would be ended. */
    boolean isOutsideHostPid() {
        return terms.requireHostPid() && !firstNamespace;
    }

    List<MissingRight> missing() {
        var missing = new ArrayList<MissingRight>();
        if (isOutsideHostPid()) {
            missing.add(
                    new MissingRight(
                            "HOST_PID",
                            "this login is not in the host's PID namespace, so the pids of GPU processes mean others there: log in on the host itself, not in a container"));
        }
        if (!has(CAP_SYS_PTRACE)) {
            missing.add(new MissingRight("SYS_PTRACE", READ));
        }
        if (!has(CAP_DAC_READ_SEARCH) && !has(CAP_DAC_OVERRIDE)) {
            missing.add(new MissingRight("DAC_READ_SEARCH", READ));
        }
        if (terms.acts() && terms.signals() && !has(CAP_KILL)) {
            missing.add(new MissingRight("KILL", "processes of other users cannot be signalled: " + HOW));
        }
        if (terms.acts() && !stateIsWritable) {
            missing.add(new MissingRight(
                    "STATE_WRITE",
                    "%s cannot be written there, so nothing can be detached: give it the mode 0777"
                            .formatted(terms.stateDirectory())));
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
