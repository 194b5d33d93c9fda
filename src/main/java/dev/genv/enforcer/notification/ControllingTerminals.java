package dev.genv.enforcer.notification;

import dev.genv.enforcer.linux.Descriptor;
import dev.genv.enforcer.linux.ProcStatus;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * Finds the controlling terminals of users, as the kernel knows them: {@code tty_nr} in {@code /proc/PID/stat}. utmp is not used, because
 * it lists only logins and other programs write it.
 */
record ControllingTerminals(Path proc) {
    private static final int LARGEST = 16 << 10;
    private static final Pattern PID = Pattern.compile("[1-9][0-9]{0,8}");
    // The fields after the name: state, ppid, pgrp, session, tty_nr (proc_pid_stat(5)).
    private static final int TTY_FIELD = 4;

    /**
     * Returns the numbers of the pseudoterminals by the real uid of the processes that have them. The terminal of the service
     * itself is left out: the kernel can stop a process that writes to its own terminal.
     */
    Map<Long, Set<Integer>> byUid() throws IOException {
        var own = terminal(proc.resolve("self"));
        var byUid = new TreeMap<Long, Set<Integer>>();
        try (var processes = Files.newDirectoryStream(
                proc, file -> PID.matcher(String.valueOf(file.getFileName())).matches())) {
            for (var process : processes) {
                terminal(process)
                        .filter(number -> !own.equals(Optional.of(number)))
                        .ifPresent(number -> uid(process)
                                .ifPresent(uid -> byUid.computeIfAbsent(uid, _ -> new TreeSet<>())
                                        .add(number)));
            }
        }
        return byUid;
    }

    private static Optional<Integer> terminal(Path process) {
        return read(process, "stat")
                .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
                .flatMap(ControllingTerminals::terminal);
    }

    /** Returns the number of the pseudoterminal in this content of {@code stat}; empty if the process has none. */
    static Optional<Integer> terminal(String stat) {
        var fields = stat.substring(Math.min(stat.lastIndexOf(')') + 2, stat.length()))
                .split(" ", TTY_FIELD + 2);
        if (fields.length <= TTY_FIELD) {
            return Optional.empty();
        }
        try {
            var device = Integer.parseInt(fields[TTY_FIELD]);
            var major = (device >> 8) & 0xfff;
            return major == TerminalFiles.MAJOR
                    ? Optional.of((device & 0xff) | ((device >>> 12) & 0xfff00))
                    : Optional.empty();
        } catch (NumberFormatException e) {
            return Optional.empty();
        }
    }

    private static Optional<Long> uid(Path process) {
        return read(process, "status").map(ProcStatus::realUid).filter(uid -> uid != ProcStatus.NONE);
    }

    /** A process may exit at any time, and has no terminal then. */
    private static Optional<byte[]> read(Path process, String name) {
        try {
            return Optional.of(Descriptor.readKernelFile(process.resolve(name).toString(), LARGEST));
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
