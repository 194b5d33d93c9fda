package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.linux.Environ;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.model.Device.HostDevice;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Idleness;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.observation.table.FakeMachine.Hands;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Privileges of the service, taken away, with every combination of the settings that widen what is terminated: no honest process of the
 * real {@code /proc} is to be terminated. A process without environment on an attached device shows what the rules still do.
 */
@Timeout(600)
class PrivilegeTableTest {
    private static final long ALICE = 61_003;
    private static final long BOB = 61_004;
    private static final long EXEMPT = 61_005;
    private static final long CAROL = 61_006;
    private static final int LARGE = 100_000;
    private static final Set<Role> USES_MUCH = EnumSet.of(Role.EXEMPT, Role.PROTECTED);
    /** A program that only root can change, and that is protected. */
    private static final Path SERVER = Path.of("/usr/bin/tail");

    private static final Path PROC = Path.of("/proc");

    /** Fills its environ with zeros, as setproctitle(3) does, and is ready when its directory is {@code /dev}. */
    private static final String OVERWRITES = """
            import ctypes, os, time
            start, end = open('/proc/self/stat').read().rpartition(')')[2].split()[47:49]
            ctypes.memset(int(start), 0, int(end) - int(start))
            os.chdir('/dev')
            time.sleep(7200)
            """;

    /** Its first thread exits. */
    private static final String WITHOUT_FIRST_THREAD = """
            import ctypes, os, threading, time
            threading.Thread(target=time.sleep, args=(7200,)).start()
            os.chdir('/dev')
            ctypes.CDLL(None).pthread_exit(None)
            """;

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        # the service runs             | capabilities that are left                               | missing privileges            | terminated
        as usual                       | +sys_ptrace,+dac_read_search,+kill                       |                               | STRANGER
        as usual                       | +sys_ptrace,+dac_read_search                             | KILL                          | STRANGER
        as usual                       | +dac_read_search,+kill                                   | SYS_PTRACE                    |
        as usual                       | +dac_read_search,+kill,+sys_admin                        | SYS_PTRACE                    |
        as usual                       | +dac_read_search,+kill,+perfmon                          | SYS_PTRACE                    |
        as usual                       | +dac_read_search,+dac_override,+kill,+sys_admin,+perfmon | SYS_PTRACE                    |
        as usual                       | +sys_ptrace,+kill                                        | DAC_READ_SEARCH               |
        as usual                       | +sys_ptrace,+kill,+sys_admin,+perfmon                    | DAC_READ_SEARCH               |
        as usual                       | +kill                                                    | DAC_READ_SEARCH, SYS_PTRACE   |
        as usual                       | +sys_admin,+perfmon                                      | DAC_READ_SEARCH, KILL, SYS_PTRACE |
        beside a closed state          | +sys_ptrace,+dac_read_search,+kill                       | STATE_WRITE                   | STRANGER
        beside a read-only state       | +sys_ptrace,+dac_read_search,+dac_override,+kill         | STATE_WRITE                   | STRANGER
        in a PID namespace             | +sys_ptrace,+dac_read_search,+kill                       | HOST_PID                      |
        in a PID namespace             | +kill                                                    | DAC_READ_SEARCH, HOST_PID, SYS_PTRACE |
        in an accepted PID namespace   | +sys_ptrace,+dac_read_search,+kill                       |                               | NAMESAKE
        """)
    void withoutAPrivilegeNothingHonestIsTerminated(
            String place, String capabilities, @Nullable String missing, @Nullable Role terminated) throws Exception {
        Requirements.rootWithCapabilities();
        Requirements.program("/usr/bin/setpriv", "util-linux");
        Requirements.program("/usr/bin/python3", "python3");
        var service = ServicePlace.named(place);
        var inA = Map.of("GENV_ENVIRONMENT_ID", "a", "LONG", "x".repeat(50));
        try (var honest = Child.ofUser(ALICE, inA);
                var titled = Script.start(ALICE, OVERWRITES, inA);
                var withoutFirst = Script.start(ALICE, WITHOUT_FIRST_THREAD, inA);
                var stranger = Child.ofUser(BOB, Map.of("HOME", "/"));
                var quotaHolder = Child.ofUser(BOB, Map.of("HOME", "/"));
                var exempt = Child.ofUser(EXEMPT, Map.of("GENV_ENVIRONMENT_ID", "e"));
                var server = Child.running(
                        Programs.asUser(CAROL, SERVER.toString(), "-f", "/dev/null"), Map.of("HOME", "/"))) {
            await().until(() -> server.command().equals("tail"));
            await().until(() -> isAtEnd(titled.pid()) && state(titled.pid()) == 'S');
            await().until(() -> isAtEnd(withoutFirst.pid()) && state(withoutFirst.pid()) == 'Z');
            var pids = List.of(
                    honest.pid(),
                    titled.pid(),
                    withoutFirst.pid(),
                    stranger.pid(),
                    exempt.pid(),
                    server.pid(),
                    ServicePlace.SECOND);
            for (var hands : Hands.values()) {
                var output = observe(hands, service, capabilities, quotaHolder.pid(), pids);
                assertThat(output.lines().filter(line -> !line.startsWith("-")))
                        .as("%s %s with %s:%n%s", hands, place, capabilities, output)
                        .containsExactly(
                                "missing [%s]".formatted(missing == null ? "" : missing),
                                "terminated [%s]".formatted(terminated == null ? "" : terminated));
            }
            titled.assertStartedByShell("a");
            withoutFirst.assertStartedByShell("a");
        }
    }

    /** Where the service runs. */
    private enum ServicePlace {
        USUAL("as usual"),
        CLOSED_STATE("beside a closed state"),
        READ_ONLY_STATE("beside a read-only state"),
        NAMESPACE("in a PID namespace"),
        ACCEPTED_NAMESPACE("in an accepted PID namespace");

        /** The pid of a process beside the service in a PID namespace. */
        static final int SECOND = 2;

        /** The folder of the test as the service sees it, in that folder. */
        static final String VIEW = "view";

        /** Another process of the namespace gets the pid 2, which the GPU tool lists. */
        private static final List<String> IN_A_NAMESPACE = List.of(
                "unshare",
                "--pid",
                "--fork",
                "--mount-proc",
                "sh",
                "-c",
                "env -i sleep 7200 >/dev/null & exec \"$@\"",
                "sh");

        private final String words;

        ServicePlace(String words) {
            this.words = words;
        }

        static ServicePlace named(String words) {
            return Stream.of(values())
                    .filter(place -> place.words.equals(words))
                    .findFirst()
                    .orElseThrow();
        }

        boolean isNamespace() {
            return this == NAMESPACE || this == ACCEPTED_NAMESPACE;
        }

        /** Returns the beginning of a command that runs there. */
        List<String> prefix(Path folder) {
            return switch (this) {
                case USUAL, CLOSED_STATE -> List.of();
                case READ_ONLY_STATE ->
                    List.of(
                            "unshare",
                            "--mount",
                            "sh",
                            "-c",
                            "mkdir \"$0\" && mount --bind \"${0%/*}\" \"$0\" && mount -o remount,bind,ro \"$0\" && exec \"$@\"",
                            folder.resolve(VIEW).toString());
                case NAMESPACE, ACCEPTED_NAMESPACE -> IN_A_NAMESPACE;
            };
        }
    }

    /** The processes, in the order in which they are listed. */
    enum Role {
        HONEST,
        TITLED,
        FIRST_THREAD_GONE,
        STRANGER,
        EXEMPT,
        PROTECTED,
        /** The second process of the PID namespace, if the service has one of its own. */
        NAMESAKE
    }

    /** A script that a shell of its user executes, which waits for it: the shell shows where it belongs. */
    private record Script(Child shell, int pid) implements AutoCloseable {
        static Script start(long uid, String script, Map<String, String> variables) throws IOException {
            // The second command keeps the shell from executing the first one in its own place.
            var shell = Child.running(
                    Programs.asUser(uid, "sh", "-c", "/usr/bin/python3 -I -S -c \"$0\"; :", script), variables);
            var children = PROC.resolve("%d/task/%1$d/children".formatted(shell.pid()));
            await().until(() ->
                    Files.exists(children) && !Files.readString(children).isBlank());
            return new Script(shell, Integer.parseInt(Files.readString(children).strip()));
        }

        /** Otherwise the test shows nothing. */
        void assertStartedByShell(String environment) throws IOException {
            assertThat(ProcStat.parse(Files.readAllBytes(PROC.resolve(pid + "/stat")))
                            .relations()
                            .parent())
                    .isEqualTo(shell.pid());
            var environ = Files.readAllBytes(PROC.resolve(shell.pid() + "/environ"));
            assertThat(new String(Environ.value(environ), StandardCharsets.UTF_8))
                    .isEqualTo(environment);
        }

        @Override
        public void close() {
            shell.closeWithDescendants();
        }
    }

    /** Whether a script is executed up to its change of directory; without a first thread the directory is another thread's. */
    private static boolean isAtEnd(int pid) throws IOException {
        try (var threads = Files.list(PROC.resolve(pid + "/task"))) {
            return threads.anyMatch(thread -> {
                try {
                    return Files.readSymbolicLink(thread.resolve("cwd")).equals(Path.of("/dev"));
                } catch (IOException e) {
                    return false;
                }
            });
        }
    }

    /** The state of the first thread. */
    private static char state(int pid) throws IOException {
        return ProcStat.parse(Files.readAllBytes(PROC.resolve("%d/task/%1$d/stat".formatted(pid))))
                .state();
    }

    /** Has {@link #main} observe with no other capabilities than these. */
    private String observe(Hands hands, ServicePlace place, String capabilities, int quotaHolder, List<Integer> pids)
            throws Exception {
        var own = Files.createDirectories(folder.resolve(hands.name()));
        return execute(
                PrivilegeTableTest.class,
                place.prefix(own),
                "," + capabilities,
                Stream.concat(Stream.of(hands.name(), own.toString(), place.name(), quotaHolder), pids.stream()));
    }

    /** Returns what the main method of a class prints with no other capabilities than these. */
    static String execute(Class<?> main, List<String> prefix, String capabilities, Stream<?> arguments)
            throws Exception {
        var command = Stream.of(
                prefix.stream(),
                Stream.of("setpriv", "--bounding-set=-all" + capabilities, "--inh-caps=-all"),
                Stream.of(
                        Path.of(System.getProperty("java.home"), "bin/java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        main.getName()),
                arguments.map(Object::toString));
        var error = Files.createTempFile("privileges", "error");
        var process = new ProcessBuilder(command.flatMap(part -> part).toList())
                .redirectError(error.toFile())
                .start();
        var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(Files.readString(error)).isZero();
        Files.delete(error);
        return output;
    }

    /**
     * Prints the missing privileges, which processes would be terminated with any of the settings, and, after a hyphen, what was observed of
     * each, and why.
     *
     * @param arguments the hands, a folder, the place, the pid of a process of the user who holds too many devices, and the pids of the roles
     */
    public static void main(String[] arguments) throws Exception {
        var place = ServicePlace.valueOf(arguments[2]);
        var pids = Stream.of(arguments).skip(4).map(Integer::valueOf).toList();
        var missing = new TreeSet<String>();
        var terminated = EnumSet.noneOf(Role.class);
        var reasons = new TreeSet<String>();
        for (var overwrittenIsOutside : List.of(false, true)) {
            var name = "overwritten-" + overwrittenIsOutside;
            var machine = new FakeMachine(Hands.valueOf(arguments[0]), Path.of(arguments[1], name));
            machine.procRoot = PROC;
            machine.overwrittenIsOutside = overwrittenIsOutside;
            machine.requireHostPid = place == ServicePlace.NAMESPACE;
            machine.programs.add(new ProtectedExecutable(SERVER, "+" + CAROL));
            machine.exempt.add("+" + EXEMPT); // a number without an account could be the name of one
            for (var pid : place.isNamespace() ? pids : pids.subList(0, pids.size() - 1)) {
                var usesMuch = USES_MUCH.contains(Role.values()[pids.indexOf(pid)]);
                machine.tool.process(usesMuch ? 1 : 0, pid, usesMuch ? Integer.toString(LARGE) : "10");
            }
            new StateFiles(machine.state)
                    .env("a", ALICE, null, null, pids.getFirst())
                    .env("b", BOB, null, null, Integer.parseInt(arguments[3]))
                    .env(
                            "e",
                            EXEMPT,
                            null,
                            null,
                            pids.get(List.of(Role.values()).indexOf(Role.EXEMPT)))
                    .device(0, "a", "b")
                    .device(1, "b", "e")
                    .write();
            if (place == ServicePlace.CLOSED_STATE) {
                Files.setPosixFilePermissions(machine.state, PosixFilePermissions.fromString("r-xr-xr-x"));
            } else if (place == ServicePlace.READ_ONLY_STATE) {
                machine.statePath = Path.of(arguments[1], ServicePlace.VIEW, name, "genv");
            }
            var host = machine.host();
            host.observe(Set.of());
            var snapshot = host.observe(Set.of());
            missing.addAll(snapshot.details().missingPrivileges());
            snapshot.processes()
                    .forEach(process -> reasons.add("- %s: %d of uid %s is %s by %s, immunity %s"
                            .formatted(
                                    Role.values()[pids.indexOf(process.pid())],
                                    process.pid(),
                                    process.uid(),
                                    process.membership(),
                                    process.membershipBy(),
                                    process.immunity())));
            terminations(snapshot).forEach((pid, rules) -> {
                var role = Role.values()[pids.indexOf(pid)];
                terminated.add(role);
                reasons.add("- %s is terminated: %s".formatted(role, rules));
            });
        }
        System.out.println("missing " + missing);
        System.out.println("terminated " + terminated);
        reasons.forEach(System.out::println);
    }

    /**
     * Returns the pids that would be terminated with any of the settings, with the rules that ask for it. No process computed for a long time on
     * the second device, and a user of both devices holds one too many.
     */
    static Map<Integer, Set<String>> terminations(Snapshot snapshot) {
        var day = Duration.ofDays(1);
        var idleness = new Idleness(
                Map.of(),
                Map.of(new HostDevice(snapshot.host(), 1), day),
                Map.of(),
                snapshot.processes().stream()
                        .collect(
                                Collectors.toMap(process -> new HostProcess(snapshot.host(), process.id()), _ -> day)));
        var terminations = new TreeMap<Integer, Set<String>>();
        for (var modes : combinations()) {
            KnownRules.policy(modes, new Limits(1, Map.of()), new Limits(LARGE / 2, Map.of()))
                    .check(new Fleet(List.of(snapshot), false).with(idleness), Set.of())
                    .actions()
                    .forEach(planned -> {
                        if (planned.action() instanceof Action.Terminate(var _, var process, var _)
                                && process.immunity() == null) {
                            terminations
                                    .computeIfAbsent(process.pid(), _ -> new TreeSet<>())
                                    .addAll(planned.ruleNames());
                        }
                    });
        }
        return terminations;
    }

    /** All combinations of the rules that a setting enforces, with those that are enforced without one. */
    private static List<Map<RuleDefinition, RuleMode>> combinations() {
        return IntStream.range(0, 32)
                .mapToObj(bits -> {
                    var modes = new HashMap<RuleDefinition, RuleMode>();
                    modes.put(KnownRules.ENV_DEVICES, RuleMode.ENFORCE);
                    modes.put(KnownRules.ENV_MEMORY, RuleMode.ENFORCE);
                    modes.put(KnownRules.ENV_OWNER, RuleMode.ENFORCE);
                    modes.put(KnownRules.NON_ENV_PROCESSES, mode(bits & 1));
                    modes.put(KnownRules.INACTIVE_ENV_PROCESSES, mode(bits & 2));
                    modes.put(KnownRules.MAX_MEMORY_PER_USER, mode(bits & 4));
                    modes.put(KnownRules.MAX_DEVICES_PER_USER, mode(bits & 8));
                    modes.put(KnownRules.IDLE_PROCESSES, mode(bits & 16));
                    return Map.copyOf(modes);
                })
                .toList();
    }

    private static RuleMode mode(int bit) {
        return bit == 0 ? RuleMode.AUDIT : RuleMode.ENFORCE;
    }
}
