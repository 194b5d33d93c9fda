package dev.genv.enforcer.notification;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.linux.Libc.NativeFunction;
import dev.genv.enforcer.linux.ProcStat.ProcStatus;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.notification.Notice.PersonalNotice;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jboss.logging.Logger;

/**
 * Writes to the terminals of users of this node. A message is written once and never repeated. Nothing is written for root, whose
 * terminals are those of the administrators.
 */
public final class TerminalDelivery extends PersonalDelivery<Long> {
    private static final Logger LOG = Logger.getLogger(TerminalDelivery.class);
    private static final Duration COLLECTED = Duration.ofSeconds(1);
    private static final int PER_HOUR = 30;
    private static final int MOST_TERMINALS = 16;

    /** A terminal may be in raw mode, and then needs a carriage return. */
    private static final String LINE = "\r\n";

    private static final int MOST_SHOWN = 3;

    private final Terminals terminals;
    private final String host;

    /** Creates a delivery on the node with this proc file system and this name. */
    public TerminalDelivery(MessageSource source, Path proc, String host, Ticker ticker, MeterRegistry registry) {
        super("terminal", source, new Limits(COLLECTED, PER_HOUR), ticker, registry);
        terminals = Terminals.of(proc);
        this.host = SafeText.escape(host);
    }

    @Override
    Optional<Long> person(PersonalNotice personal) {
        return personal.violation().violation().hosts().stream()
                .findFirst()
                .map(first -> source.users().ownerOf(first, personal.uid()))
                .filter(uid -> uid != 0);
    }

    @Override
    Optional<Duration> deliver() {
        if (isDue()) {
            try {
                var byUid = terminals.byUid();
                takeDue(batch -> write(batch, byUid));
            } catch (IOException e) {
                takeDue(_ -> countFailure(failed, "the processes cannot be listed: " + Errno.textOf(e)));
            }
        }
        return Optional.empty();
    }

    private void write(Batch<Long> batch, Map<Long, Set<Integer>> byUid) {
        var bytes = text(batch);
        byUid.getOrDefault(batch.person(), Set.of()).stream()
                .limit(MOST_TERMINALS)
                .forEach(number -> write(number, batch.person(), bytes));
    }

    private void write(int number, long uid, byte[] bytes) {
        try {
            switch (terminals.write(number, uid, bytes)) {
                case WRITTEN -> countSent();
                case REFUSED -> LOG.debugf("Terminal pts/%d does not accept messages for uid %d", number, uid);
                case NOT_READ -> LOG.debugf("No program reads terminal pts/%d of uid %d", number, uid);
            }
        } catch (IOException e) {
            // It may have been closed in the meantime, or exist only in a container.
            if (!(e instanceof Errno error && error.is(Errno.ENOENT))) {
                countFailure(failed, "a terminal cannot be written: " + Errno.textOf(e));
            }
        }
    }

    private byte[] text(Batch<Long> batch) {
        var groups = NoticeText.groups(batch.notices());
        var shown = groups.stream().limit(MOST_SHOWN).map(this::line).collect(Collectors.joining(LINE, LINE, LINE));
        var rest = Math.max(0, groups.size() - MOST_SHOWN) + batch.omitted();
        var text = rest == 0
                ? shown
                : shown + "genv-enforcer: and %d more messages about your processes".formatted(rest) + LINE;
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private String line(List<PersonalNotice> group) {
        return "genv-enforcer on %s, %s: %s"
                .formatted(
                        host,
                        source.text().time(group.getFirst().notice().at()),
                        source.text().paragraph(group));
    }

    /**
     * Finds the pseudoterminals of the users of the node, and writes to them. In a file system of the type devpts only the kernel creates
     * files, so a user cannot put a FIFO or a link in the place of a terminal.
     *
     * @param directory the devpts of the machine, such as {@code /proc/1/root/dev/pts}
     */
    record Terminals(Path proc, Path directory) {
        private static final int LARGEST = 16 << 10;
        /** The name may contain any character; after it are state, ppid, pgrp, session and tty_nr (proc_pid_stat(5)). */
        private static final Pattern TERMINAL = Pattern.compile("(?s).*\\) \\S (?:-?\\d+ ){3}(-?\\d{1,10}) .*");

        /** The major number of pseudoterminals; the minor number is the number of the terminal (Documentation/admin-guide/devices.txt). */
        private static final int MAJOR = 136;

        /** linux/magic.h. */
        private static final long DEVPTS_SUPER_MAGIC = 0x1cd1;

        private static final int STATFS_BYTES = 256;
        private static final int GROUP_WRITABLE = 020;
        private static final NativeFunction FSTATFS = NativeFunction.of("fstatfs", JAVA_INT, JAVA_INT, ADDRESS);

        /** What became of a message. */
        enum Result {
            WRITTEN,
            /** It belongs to another user, or its user accepts no messages (mesg n). */
            REFUSED,
            /** It accepted less than the message, because no program reads it. */
            NOT_READ
        }

        /** Returns the terminals of the machine, as its first process sees them; the service's own if access is denied. */
        static Terminals of(Path proc) {
            var first = proc.resolve("1/root");
            return new Terminals(proc, Files.isDirectory(first) ? first.resolve("dev/pts") : Path.of("/dev/pts"));
        }

        /**
         * Returns the numbers of the controlling terminals by the real uid of the processes that have them, as the kernel knows them. utmp is
         * not used, because it lists only logins and other programs write it. The terminal of the service itself is left out: the kernel can
         * stop a process that writes to its own terminal.
         */
        Map<Long, Set<Integer>> byUid() throws IOException {
            var byUid = new TreeMap<Long, Set<Integer>>();
            try (var processes = Files.newDirectoryStream(proc, "[1-9]*")) {
                for (var process : processes) {
                    controlling(process)
                            .ifPresent(number -> uid(process)
                                    .ifPresent(uid -> byUid.computeIfAbsent(uid, _ -> new TreeSet<>())
                                            .add(number)));
                }
            }
            var own = controlling(proc.resolve("self"));
            own.ifPresent(number -> byUid.values().forEach(numbers -> numbers.remove(number)));
            return byUid;
        }

        private static Optional<Integer> controlling(Path process) {
            return read(process, "stat")
                    .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
                    .flatMap(Terminals::controlling);
        }

        /** Returns the number of the pseudoterminal in this content of {@code stat}; empty if the process has none. */
        static Optional<Integer> controlling(String stat) {
            var match = TERMINAL.matcher(stat);
            if (!match.matches()) {
                return Optional.empty();
            }
            var device = (int) Long.parseLong(match.group(1));
            var major = (device >> 8) & 0xfff;
            return major == MAJOR ? Optional.of((device & 0xff) | ((device >>> 12) & 0xfff00)) : Optional.empty();
        }

        private static Optional<Long> uid(Path process) {
            return read(process, "status").map(ProcStatus::realUid).filter(uid -> uid != ProcStatus.NONE);
        }

        /** A process may exit at any time, and has no terminal then. */
        private static Optional<byte[]> read(Path process, String name) {
            try {
                return Optional.of(
                        Descriptor.readKernelFile(process.resolve(name).toString(), LARGEST));
            } catch (IOException e) {
                return Optional.empty();
            }
        }

        /** Writes a text once, if the terminal of this number belongs to this user and accepts messages of others. */
        Result write(int number, long uid, byte[] text) throws IOException {
            try (var folder = open(FileCalls.AT_FDCWD, directory.toString(), FileCalls.O_DIRECTORY)) {
                if (type(folder) != DEVPTS_SUPER_MAGIC) {
                    throw new IOException("%s is no devpts".formatted(directory));
                }
                var name = Integer.toString(number);
                if (!accepts(FileCalls.status(folder.number(), name), number, uid)) {
                    return Result.REFUSED; // not even opened
                }
                try (var terminal = open(folder.number(), name, FileCalls.O_WRONLY)) {
                    return accepts(terminal.status(), number, uid) ? write(terminal, text) : Result.REFUSED;
                }
            }
        }

        private static Descriptor open(int folder, String name, int flags) throws Errno {
            return new Descriptor(FileCalls.openat(folder, name, flags, 0));
        }

        private static boolean accepts(FileStatus status, int number, long uid) {
            return status.isCharacterDevice()
                    && status.represented() == FileStatus.device(MAJOR, number)
                    && status.uid() == uid
                    && (status.permissions() & GROUP_WRITABLE) != 0;
        }

        /** Writes what the terminal takes: its descriptor does not block. */
        private static Result write(Descriptor terminal, byte[] text) throws Errno {
            try {
                FileCalls.write(terminal.number(), text);
                return Result.WRITTEN;
            } catch (Errno e) {
                if (e.is(Errno.EAGAIN)) {
                    return Result.NOT_READ;
                }
                throw e;
            }
        }

        private static long type(Descriptor folder) throws Errno {
            try (var arena = Arena.ofConfined()) {
                var status = arena.allocate(STATFS_BYTES, Long.BYTES);
                FSTATFS.call(folder.number(), status);
                return status.get(JAVA_LONG, 0);
            }
        }
    }
}
