package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.gpu.GpuQuery.ToolException;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.AccessFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.HostFacts.MachineFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.linux.FileTree;
import dev.genv.enforcer.linux.FileTree.TrustedOwners;
import dev.genv.enforcer.linux.FileTree.TrustedOwners.UntrustedException;
import dev.genv.enforcer.linux.PasswdFile;
import dev.genv.enforcer.linux.PasswdFile.GroupFile;
import dev.genv.enforcer.linux.WatchedFile;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.model.Ternary;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Facts of {@code /proc} about the machine and the service itself.
 *
 * @param root the path of {@code /proc}
 */
public record MachineFiles(Path root) {
    /** The size limit of files that users can extend, for example with locks. */
    private static final int LARGEST_LIST = 16 << 20;

    private static final String CAPABILITIES = "\nCapEff:\t";
    private static final FileTree OWN_FILES = new FileTree(Path.of("/"));

    public AccessFacts access(boolean stateIsWritable) {
        return new AccessFacts(
                (int) ProcessHandle.current().pid(),
                capabilities(),
                namespace("self/ns/pid"),
                securityLabel(),
                stateIsWritable);
    }

    /** As {@link AccessFacts#capabilities}. */
    private long capabilities() {
        var status = text(() -> ProcFs.text(root.resolve("self/status")));
        var start = status.indexOf(CAPABILITIES) + CAPABILITIES.length();
        var end = status.indexOf('\n', start);
        try {
            return start < CAPABILITIES.length()
                    ? 0
                    : Long.parseUnsignedLong(status, start, end < 0 ? status.length() : end, 16);
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    private String securityLabel() {
        for (var name : List.of("self/attr/apparmor/current", "self/attr/current")) {
            try {
                return ProcFs.text(root.resolve(name)).strip();
            } catch (IOException e) {
                // Without such a module, the read fails.
            }
        }
        return "";
    }

    /**
     * Returns the files of the machine, as its first process sees them. Without a privilege of root that is denied, and they are unknown: the
     * service's own files may be those of an image. They count if the service lacks none, and for an ordinary user.
     */
    public FileTree hostFiles() {
        var first = root.resolve("1/root");
        return Files.isDirectory(first) || (lacksPrivilege() && !Files.notExists(first))
                ? new FileTree(first)
                : OWN_FILES;
    }

    /** Whether this is root without the privilege to look into other processes, or in a profile of AppArmor. */
    private boolean lacksPrivilege() {
        try {
            return FileCalls.effectiveUid() == 0
                    && (!AccessFacts.has(capabilities(), AccessFacts.CAP_SYS_PTRACE)
                            || securityLabel().endsWith("(enforce)"));
        } catch (Errno e) {
            throw new IllegalStateException("geteuid(2) does not fail", e);
        }
    }

    /**
     * Whether the service shares the root directory and the PID namespace of the machine's first process. Only then its name service is that
     * of the machine: an image has accounts of its own. Unknown if root lacks the privilege to look.
     */
    private Ternary isOnHost() {
        if (!namespace("self/ns/pid").equals(AccessFacts.FIRST_PID_NAMESPACE)) {
            return Ternary.NO;
        }
        try {
            return Ternary.of(Files.isSameFile(root.resolve("self/root"), root.resolve("1/root")));
        } catch (IOException e) {
            return lacksPrivilege() ? Ternary.UNKNOWN : Ternary.NO;
        }
    }

    /** Returns why the name service of the machine is not asked, with this failure if there is only another one; empty if it is asked. */
    private <T> Optional<Reading<T>> notAsked(Failure elsewhere) {
        return switch (isOnHost()) {
            case YES -> Optional.empty();
            case NO -> Optional.of(Reading.failed(elsewhere, ""));
            case UNKNOWN ->
                Optional.of(
                        Reading.failed(Failure.DENIED, "it is unknown whether the service runs on the machine itself"));
        };
    }

    public List<String> locks() throws IOException {
        return lines("locks");
    }

    /** Returns the mounts in the view of a process: {@code self}, or a pid. */
    public List<String> mounts(String who) throws IOException {
        return lines(who + "/mountinfo");
    }

    public Path mountinfo(String who) {
        return root.resolve(who).resolve("mountinfo");
    }

    /** Whether the machine's root differs from the service's root; false if unknown. */
    public boolean isInContainer() {
        return hasOwn("mnt");
    }

    private boolean hasOwn(String namespace) {
        var own = namespace("self/ns/" + namespace);
        var first = namespace("1/ns/" + namespace);
        return !own.isEmpty() && !first.isEmpty() && !own.equals(first);
    }

    /** Returns the host name of the machine. A container has its own one, which changes with each new container. */
    public String hostName() {
        var name = hasOwn("uts")
                ? text(() -> ProcFs.text(new FileTree(root.resolve("1/root"))
                                .follow(Path.of("/etc/hostname"), FileTree.Inspection.NONE)))
                        .lines() // as in hostname(5): a name, possibly after comments
                        .map(String::strip)
                        .filter(line -> !line.isEmpty() && !line.startsWith("#"))
                        .findFirst()
                        .filter(first -> !first.startsWith("localhost")) // the default name of every machine
                        .orElse("")
                : "";
        name = name.isEmpty() ? text(() -> ProcFs.text(root.resolve("sys/kernel/hostname"))) : name;
        return name.isEmpty() ? InetAddress.getLoopbackAddress().getHostName() : name;
    }

    /** Returns the status of a path of the machine, as its first process sees it; null if there is none. */
    @Nullable
    public FileStatus hostStatus(Path path) throws IOException {
        try {
            var there = root.resolve("1/root").resolve(Path.of("/").relativize(path));
            return FileCalls.statusOfLink(there);
        } catch (Errno e) {
            if (e.is(Errno.ENOENT) || e.is(Errno.ENOTDIR)) {
                return null;
            }
            throw e;
        }
    }

    private List<String> lines(String file) throws IOException {
        return new String(ProcFs.read(root.resolve(file), LARGEST_LIST), StandardCharsets.UTF_8)
                .lines()
                .toList();
    }

    /** Returns the machine's id, boot and driver, each empty if it cannot be read. */
    public MachineFacts facts(Reading<String> cgroupRoot, long beforeListing, long beforeState) {
        return new MachineFacts(
                text(() -> ProcFs.text(hostFiles().follow(Path.of("/etc/machine-id"), FileTree.Inspection.NONE))),
                text(() -> ProcFs.text(root.resolve("sys/kernel/random/boot_id"))),
                text(() -> ProcFs.text(root.resolve("driver/nvidia/version")))
                        .lines()
                        .findFirst()
                        .orElse(""),
                cgroupRoot,
                beforeListing,
                beforeState);
    }

    private String namespace(String link) {
        return text(() -> Files.readSymbolicLink(root.resolve(link)).toString());
    }

    private interface Text {
        String read() throws IOException;
    }

    private static String text(Text text) {
        try {
            return text.read().strip();
        } catch (IOException e) {
            return "";
        }
    }

    /**
     * Reads the files of the accounts in the host's {@code /etc}, or in the service's own if the host's root directory is out of reach, and
     * asks the name service of the host if the service runs there.
     */
    public static final class AccountFiles {
        private static final int LARGEST = 4 << 20;
        private static final int GETENT_UNKNOWN = 2;
        /** Also the exit code for a name service that fails. */
        private static final int ID_UNKNOWN = 1;
        /** getent(1) found all keys, or not all. */
        private static final Set<Integer> ANSWERED = Set.of(0, GETENT_UNKNOWN);

        private static final Pattern NUMBER = Pattern.compile("[0-9]+");

        private final MachineFiles machine;
        private final ChildProcess getent;
        private final ChildProcess id;
        private final Duration limit;
        private final WatchedFile<TextFile> passwd;
        private final WatchedFile<TextFile> subuid;
        private final WatchedFile<TextFile> group;

        /**
         * @param getent getent(1)
         * @param id id(1)
         * @param limit after which time it is asked for no further user of the settings
         */
        public AccountFiles(ProcFs proc, ChildProcess getent, ChildProcess id, Duration limit) {
            machine = proc.machine();
            this.getent = getent;
            this.id = id;
            this.limit = limit;
            passwd = file(proc, "/etc/passwd");
            subuid = file(proc, "/etc/subuid");
            group = file(proc, "/etc/group");
        }

        /**
         * Reads the files, and asks the name service for each of the users of the settings, for what else the request names, and for uids that
         * nobody knows.
         *
         * @param observed the uids of the observed processes
         */
        public AccountFacts read(ObservationRequest request, Stream<Long> observed) throws InterruptedException {
            var configured = each(request.users(), this::uidOf);
            var groups = each(request.groups(), this::numberOf);
            var memberships = each(request.members(), this::groupsOf);
            var file = ProcFs.reading(() -> Reading.of(passwd.current()));
            var unknown = observed.map(request.subordinateUids()::ownerOf)
                    .filter(uid -> !request.knownUids().contains(uid))
                    .distinct()
                    .toList();
            var local = unknown.isEmpty() ? Accounts.NONE : accounts(file);
            var asked = Stream.concat(
                            request.accounts().stream(),
                            unknown.stream()
                                    .filter(uid -> local.namesOf(uid).isEmpty())
                                    .limit(request.moreAccounts())
                                    .map(Object::toString))
                    .distinct()
                    .toList();
            return new AccountFacts(
                    file,
                    ProcFs.reading(() -> Reading.of(subuid.current())),
                    asked,
                    asked.isEmpty() ? AccountFacts.NOT_ASKED : ask(asked),
                    configured,
                    groups,
                    memberships);
        }

        private interface Lookup<T> {
            Reading<T> find(String name) throws InterruptedException;
        }

        private <T> List<Reading<T>> each(List<String> names, Lookup<T> lookup) throws InterruptedException {
            var found = new ArrayList<Reading<T>>();
            var deadline = System.nanoTime() + limit.toNanos();
            var isStopped = false;
            for (var name : names) {
                var its = isStopped ? Reading.<T>failed(Failure.NO_TIME, "") : lookup.find(name);
                found.add(its);
                isStopped |= System.nanoTime() - deadline > 0
                        || (its instanceof Reading.Failed<T>(var failure, var _) && failure == Failure.OTHER);
            }
            return found;
        }

        /** Each is asked for alone: the answer may have another spelling. getent(1) takes a number for a uid only, id(1) for a name first. */
        private Reading<Long> uidOf(String user) throws InterruptedException {
            var notAsked = machine.<Long>notAsked(Failure.SKIPPED);
            if (notAsked.isPresent()) {
                return notAsked.get();
            }
            return NUMBER.matcher(user).matches()
                    ? ask(id, ID_UNKNOWN, Accounts::numberIn, "-u", "--", user)
                    : ask(getent, GETENT_UNKNOWN, text -> single(PasswdFile.uidsByName(text)), "--", "passwd", user);
        }

        private Reading<Long> numberOf(String name) throws InterruptedException {
            return switch (machine.<Long>notAsked(Failure.SKIPPED).orElse(null)) {
                case null -> ask(getent, GETENT_UNKNOWN, text -> single(GroupFile.numbers(text)), "--", "group", name);
                case Reading.Failed<Long>(var failure, var _)
                when failure == Failure.SKIPPED ->
                    text(group)
                            .flatMap(text -> found(
                                    Optional.ofNullable(GroupFile.numbers(text).get(name))));
                case Reading<Long> unknown -> unknown;
            };
        }

        /** Not getent(1), which answers an unknown user with no group, and without the primary one. */
        private Reading<List<Long>> groupsOf(String user) throws InterruptedException {
            return switch (machine.<List<Long>>notAsked(Failure.SKIPPED).orElse(null)) {
                case null -> ask(id, ID_UNKNOWN, AccountFiles::numbers, "-G", "--", user);
                case Reading.Failed<List<Long>>(var failure, var _)
                when failure == Failure.SKIPPED ->
                    text(passwd)
                            .flatMap(accounts ->
                                    text(group).flatMap(groups -> found(GroupFile.ofUser(user, accounts, groups))));
                case Reading<List<Long>> unknown -> unknown;
            };
        }

        private static Optional<Long> single(Map<String, Long> found) {
            return found.size() == 1 ? found.values().stream().findFirst() : Optional.empty();
        }

        private static Optional<List<Long>> numbers(String text) {
            var numbers = Stream.of(text.split(" "))
                    .flatMap(number -> Accounts.numberIn(number).stream())
                    .toList();
            return numbers.isEmpty() ? Optional.empty() : Optional.of(numbers);
        }

        private static <T> Reading<T> found(Optional<T> value) {
            return value.map(Reading::of).orElseGet(() -> Reading.failed(Failure.ABSENT, ""));
        }

        private static Reading<String> text(WatchedFile<TextFile> file) {
            return ProcFs.reading(() ->
                    Reading.of(Objects.requireNonNull(file.current().content()).text()));
        }

        /** Runs a program for one name, which exits with {@code unknown} if there is none. */
        private static <T> Reading<T> ask(
                ChildProcess program, int unknown, Function<String, Optional<T>> parser, String... arguments)
                throws InterruptedException {
            try {
                var answer = program.run(arguments);
                if (answer.exitCode() == unknown) {
                    return Reading.failed(Failure.ABSENT, "");
                }
                return Optional.of(answer.stdout().text().strip())
                        .filter(_ -> answer.exitCode() == 0)
                        .flatMap(parser)
                        .map(Reading::of)
                        .orElseGet(() -> Reading.failed(
                                Failure.OTHER, "%s exited with %d".formatted(program.name(), answer.exitCode())));
            } catch (ToolException e) {
                return Reading.failed(Failure.OTHER, String.valueOf(e.getMessage()));
            }
        }

        /** If the file cannot be read, the name service is asked for its accounts too. */
        private static Accounts accounts(Reading<TextFile> file) {
            return file instanceof Reading.Value<TextFile>(var text) && text.content() != null
                    ? PasswdFile.parse(text.content().text())
                    : Accounts.NONE;
        }

        private Reading<Bytes> ask(List<String> asked) throws InterruptedException {
            var notAsked = machine.<Bytes>notAsked(Failure.ABSENT);
            if (notAsked.isPresent()) {
                return notAsked.get();
            }
            try {
                var arguments = Stream.concat(Stream.of("--", "passwd"), asked.stream());
                var answer = getent.run(arguments.toArray(String[]::new));
                return ANSWERED.contains(answer.exitCode())
                        ? Reading.of(answer.stdout())
                        : Reading.failed(Failure.OTHER, "getent exited with " + answer.exitCode());
            } catch (ToolException e) {
                return Reading.failed(Failure.OTHER, String.valueOf(e.getMessage()));
            }
        }

        private static WatchedFile<TextFile> file(ProcFs proc, String path) {
            return new WatchedFile<>(
                    () -> proc.machine().hostFiles().follow(Path.of(path), FileTree.Inspection.NONE),
                    LARGEST,
                    bytes -> new TextFile(Sha256.hex(bytes), Bytes.of(bytes)));
        }
    }

    /** The files of the protected programs on the host. They are found again in every observation, because a program may be replaced. */
    public record ProgramFiles(ProcFs proc, List<Path> paths) {
        private static final TrustedOwners ROOT = new TrustedOwners(Set.of(0L));

        public ProgramFiles {
            paths = List.copyOf(paths);
        }

        public List<Reading<ProgramFile>> read() {
            var host = proc.machine().hostFiles().forOneObservation();
            return paths.stream().map(path -> read(host, path)).toList();
        }

        private static Reading<ProgramFile> read(FileTree host, Path path) {
            return ProcFs.reading(() -> isAbsent(host.follow(path, FileTree.Inspection.NONE))
                    ? Reading.failed(Failure.ABSENT, "")
                    : Reading.of(identify(host.follow(path, ROOT))));
        }

        private static boolean isAbsent(Path path) {
            try {
                FileCalls.statusOfLink(path);
                return false;
            } catch (Errno e) {
                return e.is(Errno.ENOENT);
            }
        }

        /**
         * Identifies a file that only root can change. The kernel answers from its cache, without the file system.
         *
         * @throws UntrustedException if another user can change it
         */
        public static ProgramFile identify(Path path) throws IOException {
            var status = FileCalls.status(path);
            if (!status.isRegular()) {
                throw new UntrustedException("it is not a file");
            }
            if (status.uid() != 0 || (status.mode() & TrustedOwners.WRITABLE_BY_OTHERS) != 0) {
                throw new UntrustedException("others can change it");
            }
            return new ProgramFile(new FileId(status.device(), status.inode()), status.born());
        }

        /**
         * Identifies the program of a process: the file itself, even if it was renamed, removed or mounted elsewhere. If its first thread
         * has exited, another one shows it.
         *
         * @throws IOException if the kernel does not tell what it runs
         */
        static Reading<ProgramFile> ofProcess(ProcFs proc, int pid) throws IOException {
            try {
                return ofLink(proc.file(pid, "exe"));
            } catch (IOException e) {
                for (var thread : proc.threads(pid)) {
                    try {
                        return ofLink(thread.resolve("exe"));
                    } catch (NoSuchFileException ended) {
                        // The next thread may still run.
                    }
                }
                throw e;
            }
        }

        /** A file system may refuse to show a file even to root, and the kernel refuses to show a path that is too long. */
        private static Reading<ProgramFile> ofLink(Path link) throws IOException {
            try {
                return Reading.of(identify(link));
            } catch (IOException notIdentified) {
                try {
                    Files.readSymbolicLink(link);
                } catch (NoSuchFileException | AccessDeniedException unknown) {
                    throw unknown;
                } catch (IOException tooLong) {
                    // It is a program, whatever its path is.
                }
                return Reading.failed(Failure.UNTRUSTED, Errno.textOf(notIdentified));
            }
        }
    }
}
