package dev.genv.enforcer.notification;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.model.SafeText;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Writes to the terminals of users of this node. A message is written once and never repeated. Nothing is written for root, whose
 * terminals are those of the administrators.
 *
 * @param host the name of the node
 */
public record TerminalSender(NoticeText text, Terminals terminals, String host) implements Sender {
    private static final int MOST_TERMINALS = 16;

    /** A terminal may be in raw mode, and then needs a carriage return. */
    private static final String LINE = "\r\n";

    private static final int MOST_SHOWN = 3;

    @Override
    public String name() {
        return "terminal";
    }

    @Override
    public Limits limits() {
        return Limits.ofUsers(Duration.ofSeconds(1), 30);
    }

    /** Returns the notices by the uid of the account. */
    @Override
    public Recipients recipients(Notice notice) {
        var byAccount = new LinkedHashMap<String, Notice>();
        notice.byUid(text.users()).forEach((uid, its) -> {
            if (uid != 0) {
                byAccount.merge(Long.toString(uid), its, Notice::with);
            }
        });
        return Recipients.of(byAccount);
    }

    /** A message that cannot be written is not tried again. */
    @Override
    public Reply send(Message message) {
        try {
            var written = terminals.write(Long.parseLong(message.recipient()), bytes(message));
            return written == 0 ? new Reply(ReplyKind.NOBODY, "") : Reply.ACCEPTED;
        } catch (IOException e) {
            return new Reply(ReplyKind.REFUSED, "a terminal cannot be written: " + Errno.textOf(e));
        }
    }

    private byte[] bytes(Message message) {
        var groups = NoticeText.groups(message.notices());
        var shown = groups.stream().limit(MOST_SHOWN).map(this::line).collect(Collectors.joining(LINE, LINE, LINE));
        var rest = Math.max(0, groups.size() - MOST_SHOWN) + message.omitted();
        var all = rest == 0
                ? shown
                : shown + "genv-enforcer: and %d more messages about your processes".formatted(rest) + LINE;
        return all.getBytes(StandardCharsets.UTF_8);
    }

    private String line(List<Notice> group) {
        return "genv-enforcer on %s, %s: %s"
                .formatted(SafeText.escape(host), text.time(group.getFirst().at()), text.paragraph(group));
    }

    /**
     * The pseudoterminals of the users of the node: devices of the kernel in a folder of root, so a user cannot put a FIFO or a link in the
     * place of a terminal. utmp is not used, because it lists only logins and other programs write it.
     *
     * @param directory the devpts of the machine, such as {@code /proc/1/root/dev/pts}
     */
    public record Terminals(Path proc, Path directory) {
        private static final int LARGEST = 16 << 10;
        /** The name may contain any character; after it are state, ppid, pgrp, session and tty_nr (proc_pid_stat(5)). */
        private static final Pattern TERMINAL = Pattern.compile("(?s).*\\) \\S (?:-?\\d+ ){3}(-?\\d{1,10}) .*");

        /** The major number of pseudoterminals; the minor number is the number of the terminal (Documentation/admin-guide/devices.txt). */
        private static final int MAJOR = 136;

        private static final int GROUP_WRITABLE = 020;

        /** Returns the terminals of the machine, as its first process sees them; the service's own if access is denied. */
        public static Terminals of(Path proc) {
            var first = proc.resolve("1/root");
            return new Terminals(proc, Files.isDirectory(first) ? first.resolve("dev/pts") : Path.of("/dev/pts"));
        }

        /**
         * Writes a text once to each terminal that belongs to a user and accepts messages of others (mesg y), and returns their number. An
         * exception says why none could be written. The terminal of the service itself is left out: the kernel can stop a process that
         * writes to its own terminal.
         */
        int write(long uid, byte[] text) throws IOException {
            var own = controlling(
                    Descriptor.readKernelFile(proc.resolve("self/stat").toString(), LARGEST));
            var written = 0;
            IOException failure = null;
            try (var folder = Descriptor.openDirectory(directory, FileCalls.O_RDONLY);
                    var names = Files.newDirectoryStream(directory, "[0-9]*")) {
                for (var entry : names) {
                    var name = entry.getFileName().toString();
                    var number = Integer.parseInt(name);
                    try {
                        // Another user's terminal is not even opened.
                        if (written < MOST_TERMINALS
                                && number != own
                                && accepts(folder.status(name), number, uid)
                                && write(folder, number, uid, text)) {
                            written++;
                        }
                    } catch (IOException e) {
                        var isClosed = e instanceof Errno error && error.is(Errno.ENOENT);
                        failure = isClosed ? failure : e;
                    }
                }
            }
            if (written == 0 && failure != null) {
                throw failure;
            }
            return written;
        }

        /** Writes what the terminal takes: its descriptor does not block. Returns whether a program reads the terminal. */
        private static boolean write(Descriptor folder, int number, long uid, byte[] text) throws IOException {
            try (var terminal = folder.open(Integer.toString(number), FileCalls.O_WRONLY, 0)) {
                if (!accepts(terminal.status(), number, uid)) {
                    return false;
                }
                terminal.write(text);
                return true;
            } catch (Errno e) {
                if (e.is(Errno.EAGAIN)) {
                    return false;
                }
                throw e;
            }
        }

        /** Returns the number of the controlling pseudoterminal in this content of {@code stat}; -1 if the process has none. */
        static int controlling(byte[] stat) {
            var match = TERMINAL.matcher(new String(stat, StandardCharsets.UTF_8));
            var device = match.matches() ? (int) Long.parseLong(match.group(1)) : 0;
            return ((device >> 8) & 0xfff) == MAJOR ? (device & 0xff) | ((device >>> 12) & 0xfff00) : -1;
        }

        private static boolean accepts(FileStatus status, int number, long uid) {
            return status.isCharacterDevice()
                    && status.represented() == FileStatus.device(MAJOR, number)
                    && status.uid() == uid
                    && (status.permissions() & GROUP_WRITABLE) != 0;
        }
    }
}
