package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.linux.Environ;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.model.Fleet;
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
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
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
    private static final int LARGE = 100_000;
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
        # capabilities that are left                                  | is the stranger terminated
        +sys_ptrace,+dac_read_search,+kill                            | true
        +sys_ptrace,+dac_read_search                                  | true
        +dac_read_search,+kill                                        | false
        +dac_read_search,+kill,+sys_admin                             | false
        +dac_read_search,+kill,+perfmon                               | false
        +dac_read_search,+dac_override,+kill,+sys_admin,+perfmon      | false
        +sys_ptrace,+kill                                             | false
        +sys_ptrace,+kill,+sys_admin,+perfmon                         | false
        +kill                                                         | false
        +sys_admin,+perfmon                                           | false
        """)
    void withoutAPrivilegeNothingHonestIsTerminated(String capabilities, boolean isStrangerTerminated)
            throws Exception {
        Requirements.rootWithCapabilities();
        Requirements.program("/usr/bin/setpriv", "util-linux");
        Requirements.program("/usr/bin/python3", "python3");
        var inA = Map.of("GENV_ENVIRONMENT_ID", "a", "LONG", "x".repeat(50));
        try (var honest = Child.ofUser(ALICE, inA);
                var titled = Script.start(ALICE, OVERWRITES, inA);
                var withoutFirst = Script.start(ALICE, WITHOUT_FIRST_THREAD, inA);
                var stranger = Child.ofUser(BOB, Map.of("HOME", "/"));
                var exempt = Child.ofUser(EXEMPT, Map.of("HOME", "/"))) {
            await().until(() -> isAtEnd(titled.pid()) && state(titled.pid()) == 'S');
            await().until(() -> isAtEnd(withoutFirst.pid()) && state(withoutFirst.pid()) == 'Z');
            var pids = List.of(honest.pid(), titled.pid(), withoutFirst.pid(), stranger.pid(), exempt.pid());
            for (var hands : Hands.values()) {
                var output = observe(hands, capabilities, pids);
                assertThat(output.lines().filter(line -> line.startsWith("terminated")))
                        .as("%s with %s:%n%s", hands, capabilities, output)
                        .containsExactly("terminated " + (isStrangerTerminated ? Set.of(Role.STRANGER) : Set.of()));
            }
            titled.assertStartedByShell("a");
            withoutFirst.assertStartedByShell("a");
        }
    }

    /** The processes, in the order in which they are listed. */
    private enum Role {
        HONEST,
        TITLED,
        FIRST_THREAD_GONE,
        STRANGER,
        EXEMPT
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
            assertThat(ProcStat.parse(Files.readString(PROC.resolve(pid + "/stat")))
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
        return ProcStat.parse(Files.readString(PROC.resolve("%d/task/%1$d/stat".formatted(pid))))
                .state();
    }

    /** Has {@link #main} observe with no other capabilities than these. */
    private String observe(Hands hands, String capabilities, List<Integer> pids) throws Exception {
        var command = Stream.of(
                Stream.of("setpriv", "--bounding-set=-all," + capabilities, "--inh-caps=-all"),
                Stream.of(
                        Path.of(System.getProperty("java.home"), "bin/java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        PrivilegeTableTest.class.getName(),
                        hands.name(),
                        folder.resolve(hands.name()).toString()),
                pids.stream().map(Object::toString));
        var error = folder.resolve("error").toFile();
        var process = new ProcessBuilder(command.flatMap(part -> part).toList())
                .redirectError(error)
                .start();
        var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(Files.readString(error.toPath())).isZero();
        return output;
    }

    /**
     * Prints which processes would be terminated with any of the settings, what was observed of each, and why.
     *
     * @param arguments the hands, a folder, and the pids of the roles
     */
    public static void main(String[] arguments) throws Exception {
        var pids = Stream.of(arguments).skip(2).map(Integer::valueOf).toList();
        var terminated = EnumSet.noneOf(Role.class);
        var reasons = new TreeSet<String>();
        for (var overwrittenIsOutside : List.of(false, true)) {
            var machine = new FakeMachine(Hands.valueOf(arguments[0]), Path.of(arguments[1] + overwrittenIsOutside));
            machine.procRoot = PROC;
            machine.overwrittenIsOutside = overwrittenIsOutside;
            machine.exempt.add("+" + EXEMPT); // a number without an account could be the name of one
            for (var pid : pids) {
                machine.tool.process(0, pid, pid.equals(pids.getLast()) ? Integer.toString(LARGE) : "10");
            }
            new StateFiles(machine.state)
                    .env("a", ALICE, null, null, pids.getFirst())
                    .device(0, "a")
                    .device(1)
                    .write();
            var host = machine.host();
            host.observe(Set.of());
            var snapshot = host.observe(Set.of());
            snapshot.processes()
                    .forEach(process -> reasons.add("%s: %d of uid %s is %s by %s, immunity %s"
                            .formatted(
                                    Role.values()[pids.indexOf(process.pid())],
                                    process.pid(),
                                    process.uid(),
                                    process.membership(),
                                    process.membershipBy(),
                                    process.immunity())));
            for (var modes : combinations()) {
                KnownRules.policy(modes, new Limits(1, Map.of()), new Limits(LARGE / 2, Map.of()))
                        .check(new Fleet(List.of(snapshot), false), Set.of())
                        .actions()
                        .forEach(planned -> {
                            if (planned.action() instanceof Action.Terminate terminate
                                    && terminate.process().immunity() == null) {
                                var role = Role.values()[
                                        pids.indexOf(terminate.process().pid())];
                                terminated.add(role);
                                reasons.add("%s is terminated: %s".formatted(role, planned.ruleNames()));
                            }
                        });
            }
        }
        System.out.println("terminated " + terminated);
        reasons.forEach(System.out::println);
    }

    /** All combinations of the rules that a setting enforces, with those that are enforced without one. */
    private static List<Map<RuleDefinition, RuleMode>> combinations() {
        return Stream.of(0, 1, 2, 3, 4, 5, 6, 7)
                .map(bits -> {
                    var modes = new HashMap<RuleDefinition, RuleMode>();
                    modes.put(KnownRules.ENV_DEVICES, RuleMode.ENFORCE);
                    modes.put(KnownRules.ENV_MEMORY, RuleMode.ENFORCE);
                    modes.put(KnownRules.ENV_OWNER, RuleMode.ENFORCE);
                    modes.put(KnownRules.NON_ENV_PROCESSES, mode(bits & 1));
                    modes.put(KnownRules.INACTIVE_ENV_PROCESSES, mode(bits & 2));
                    modes.put(KnownRules.MAX_MEMORY_PER_USER, mode(bits & 4));
                    return Map.copyOf(modes);
                })
                .toList();
    }

    private static RuleMode mode(int bit) {
        return bit == 0 ? RuleMode.AUDIT : RuleMode.ENFORCE;
    }
}
