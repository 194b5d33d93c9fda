package dev.genv.enforcer.observation.table;

import static dev.genv.enforcer.observation.table.DescribedMachine.ALICE;
import static dev.genv.enforcer.observation.table.DescribedMachine.BOB;
import static dev.genv.enforcer.observation.table.DescribedMachine.NAMED;
import static dev.genv.enforcer.observation.table.DescribedMachine.NAMED_UID;
import static dev.genv.enforcer.observation.table.DescribedMachine.device;
import static dev.genv.enforcer.observation.table.DescribedMachine.env;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import dev.genv.enforcer.host.Machine.SignalRequest;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.table.FakeMachine.Hands;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Files of {@code /proc} to which access is denied, as AppArmor does it, with every combination of the settings that widen what is terminated:
 * no honest process is to be terminated.
 *
 * <p>AppArmor needs a kernel with it, and many machines have none. So here the permissions of a fake {@code /proc} deny access, with the same
 * error (EACCES), for the same files: a profile without a rule {@code ptrace (read)} denies what needs PTRACE_MODE_READ of ptrace(2). Those are
 * {@code environ} and {@code root}; {@code stat} shows zeros as addresses. Profiles may deny any file by its path, too. Only the kernel can deny
 * to read a link such as {@code exe}: {@link PrivilegeTableTest} has it do so.
 */
@Timeout(600)
class DenialTableTest {
    private static final int SHELL = 811;
    private static final int FIRST = 812;
    private static final long EXEMPT_UID = 70_011;
    private static final String SERVER = "/opt/server";

    @TempDir
    Path folder;

    @ParameterizedTest
    @EnumSource
    void withoutAFileNothingHonestIsTerminated(Hands hands) throws Exception {
        Requirements.root();
        Requirements.program("/usr/bin/setpriv", "util-linux");
        Requirements.program("/usr/bin/python3", "python3");
        var output = PrivilegeTableTest.execute(
                DenialTableTest.class, List.of(), "", Stream.of(hands.name(), folder.toString()));
        assertThat(output.lines().filter(line -> !line.startsWith("-")))
                .as(output)
                .containsExactly("nothing denied: [STRANGER]", "honest: []");
    }

    /**
     * Executes a program to which pidfd_send_signal(2) is denied with EACCES, as by a security module; kill(2) would give EPERM. The number is 424
     * on every architecture.
     */
    private static final String WITHOUT_SIGNALS = """
            import ctypes, os, struct, sys
            rules = b''.join(struct.pack('HBBI', *rule) for rule in (
                (0x20, 0, 0, 0), (0x15, 0, 1, 424), (0x06, 0, 0, 0x00050000 | 13), (0x06, 0, 0, 0x7fff0000)))
            table = ctypes.create_string_buffer(rules)
            program = struct.pack('HxxxxxxP', 4, ctypes.addressof(table))
            prctl = ctypes.CDLL(None, use_errno=True).prctl
            if prctl(38, 1, 0, 0, 0) or prctl(22, 2, program, 0, 0):
                sys.exit(os.strerror(ctypes.get_errno()))
            os.execvp(sys.argv[1], sys.argv[1:])
            """;

    @ParameterizedTest
    @EnumSource
    void aSignalThatASecurityModuleForbidsIsDenied(Hands hands) throws Exception {
        Requirements.root();
        Requirements.program("/usr/bin/setpriv", "util-linux");
        Requirements.program("/usr/bin/python3", "python3");
        try (var child = Child.withEnvironment(Map.of())) {
            var arguments = Stream.of(hands, folder.resolve("machine"), child.pid(), child.startTime());
            var prefix = List.of("/usr/bin/python3", "-I", "-S", "-c", WITHOUT_SIGNALS);
            assertThat(PrivilegeTableTest.execute(
                            Signals.class, prefix, ",+kill,+sys_ptrace,+dac_read_search", arguments))
                    .isEqualTo("DENIED\n");
            assertThat(child.isAlive()).isTrue();
        }
    }

    /** Prints what comes of a SIGTERM. */
    static final class Signals {
        private Signals() {}

        /**
         * Sends it.
         *
         * @param arguments the hands, a folder, a pid and its start time
         */
        public static void main(String[] arguments) throws Exception {
            var machine = new FakeMachine(Hands.valueOf(arguments[0]), Path.of(arguments[1]));
            machine.procRoot = Path.of("/proc");
            var process = new ProcessId(Integer.parseInt(arguments[2]), Long.parseLong(arguments[3]));
            machine.useRealTime();
            machine.list(process.pid());
            var used = machine.machine();
            used.observe(new ObservationRequest(Set.of()));
            used.signal(List.of(new SignalRequest(process, false)), (_, result) -> System.out.println(result.kind()));
        }
    }

    /** The processes that the GPU tool lists, from pid 812 on. */
    private enum Role {
        HONEST,
        /** The shell that started it names the environment. */
        TITLED,
        FIRST_THREAD_GONE,
        STRANGER,
        EXEMPT,
        PROTECTED;

        int pid() {
            return FIRST + List.of(values()).indexOf(this);
        }
    }

    /** What is denied. */
    private enum Denied {
        ENVIRON,
        ADDRESSES,
        ROOT,
        STATUS,
        CGROUP,
        UID_MAP,
        ARGUMENTS,
        THREADS,
        STAT;

        /** What a profile denies that does not mention these files. */
        static final Set<Denied> TRACING = EnumSet.of(ENVIRON, ADDRESSES, ROOT);

        void apply(DescribedMachine machine, int pid) throws IOException {
            var process = machine.proc.root().resolve(Integer.toString(pid));
            switch (this) {
                case ENVIRON -> close(process.resolve("environ"));
                case ADDRESSES -> zeroAddresses(process.resolve("stat"));
                case ROOT -> {
                    var link = machine.proc.root().resolve("1/root");
                    if (Files.exists(link)) {
                        var closed = Files.createDirectory(machine.proc.root().resolve("closed"));
                        var files = Files.move(link.toRealPath(), closed.resolve("root"));
                        Files.delete(link);
                        Files.createSymbolicLink(link, files);
                        close(closed);
                        machine.access(0x1ff_ffff_ffffL, 4026531836L, "docker-default (enforce)");
                    }
                }
                case STATUS -> close(process.resolve("status"));
                case CGROUP -> close(process.resolve("cgroup"));
                case UID_MAP -> close(process.resolve("uid_map"));
                case ARGUMENTS -> close(process.resolve("cmdline"));
                case THREADS -> {
                    if (Files.exists(process.resolve("task"))) {
                        close(process.resolve("task"));
                    }
                }
                case STAT -> close(process.resolve("stat"));
            }
        }

        private static void zeroAddresses(Path stat) throws IOException {
            var fields = Files.readString(stat).strip().split(" ", -1);
            for (var field = 45; field <= 51; field++) {
                fields[field - 1] = "0";
            }
            Files.writeString(stat, String.join(" ", fields) + "\n");
        }

        private static void close(Path file) throws IOException {
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("---------"));
            assertThatIOException().isThrownBy(() -> {
                if (Files.isDirectory(file)) {
                    Files.list(file).close();
                } else {
                    Files.readAllBytes(file);
                }
            });
        }
    }

    /** Prints which processes would be terminated without a denial, and which honest ones with any, and, after a hyphen, why. */
    public static void main(String[] arguments) throws Exception {
        var hands = Hands.valueOf(arguments[0]);
        var stranger = new TreeSet<Role>();
        var honest = new TreeSet<Role>();
        for (var denied : denials()) {
            for (var pids : denied.size() > 1 ? List.of(allPids()) : List.of(List.of(SHELL), allPids())) {
                for (var isFromStart : List.of(true, false)) {
                    var place = Files.createTempDirectory(Path.of(arguments[1]), "machine");
                    Files.setPosixFilePermissions(place, PosixFilePermissions.fromString("rwxr-xr-x"));
                    try (var machine = new DescribedMachine(hands, place.resolve("files"))) {
                        var terminated = terminated(machine, denied, pids, isFromStart);
                        System.out.printf(
                                "- %s denied to %s, from the start %s: %s%n", denied, pids, isFromStart, terminated);
                        if (denied.isEmpty()) {
                            stranger.addAll(terminated.keySet());
                        }
                        honest.addAll(terminated.keySet());
                    }
                }
            }
        }
        honest.remove(Role.STRANGER);
        System.out.println("nothing denied: " + stranger);
        System.out.println("honest: " + honest);
    }

    /** Nothing, each file alone, and every combination of those that a profile denies. */
    private static Set<Set<Denied>> denials() {
        var denials = new LinkedHashSet<Set<Denied>>();
        denials.add(Set.of());
        for (var each : Denied.TRACING) {
            for (var others : List.copyOf(denials)) {
                denials.add(Stream.concat(others.stream(), Stream.of(each)).collect(Collectors.toSet()));
            }
        }
        for (var each : Denied.values()) {
            denials.add(EnumSet.of(each));
        }
        return denials;
    }

    private static List<Integer> allPids() {
        var pids = new ArrayList<>(List.of(SHELL));
        for (var role : Role.values()) {
            pids.add(role.pid());
        }
        return pids;
    }

    private static Map<Role, Set<String>> terminated(
            DescribedMachine machine, Set<Denied> denied, List<Integer> pids, boolean isFromStart) throws Exception {
        describe(machine);
        machine.overwrittenIsOutside = true;
        var host = machine.host();
        if (!isFromStart) {
            host.observe(Set.of());
        }
        for (var each : denied) {
            for (var pid : pids) {
                each.apply(machine, pid);
            }
        }
        host.observe(Set.of());
        var snapshot = host.observe(Set.of());
        var terminated = new TreeMap<Role, Set<String>>();
        PrivilegeTableTest.terminations(snapshot)
                .forEach((pid, rules) -> terminated.put(Role.values()[pid - FIRST], rules));
        return terminated;
    }

    private static void describe(DescribedMachine machine) throws IOException {
        // The name is that of another uid on this machine, as in an image.
        machine.passwd(
                "root:x:0:0:::\nalice:x:1003:1:::\nbob:x:1004:1:::\n%s:x:%d:1:::\n".formatted(NAMED, EXEMPT_UID));
        assertThat(NAMED_UID).isNotEqualTo(EXEMPT_UID);
        machine.exempt.add(NAMED);
        machine.process(SHELL, ALICE, "GENV_ENVIRONMENT_ID=a").exe(Path.of("/usr/bin/bash"));
        machine.process(Role.HONEST.pid(), ALICE, "GENV_ENVIRONMENT_ID=a").exe(Path.of("/usr/bin/python3"));
        machine.process(Role.TITLED.pid(), ALICE, "GENV_ENVIRONMENT_ID=a", "LONG=" + "x".repeat(50))
                .parent(SHELL)
                .session(SHELL)
                .exe(Path.of("/usr/bin/python3"))
                .overwrite();
        machine.process(Role.FIRST_THREAD_GONE.pid(), ALICE)
                .exe(Path.of("/usr/bin/python3"))
                .state('Z')
                .threads(2)
                .withoutEnvironment()
                .thread(900)
                .environ("GENV_ENVIRONMENT_ID=a");
        machine.process(Role.STRANGER.pid(), BOB, "HOME=/").exe(Path.of("/usr/bin/python3"));
        machine.process(Role.EXEMPT.pid(), EXEMPT_UID, "HOME=/").exe(Path.of("/usr/bin/python3"));
        machine.process(Role.PROTECTED.pid(), BOB, "HOME=/");
        machine.runs(Role.PROTECTED.pid(), machine.protect(SERVER, "bob"));
        var listed = new StringBuilder();
        for (var role : Role.values()) {
            listed.append("GPU-0, %d, %d\n"
                    .formatted(role.pid(), role == Role.EXEMPT || role == Role.PROTECTED ? 100_000 : 10));
        }
        machine.listProcesses(listed.toString(), 0);
        machine.envs(env("a", ALICE, "alice", Integer.toString(SHELL)));
        machine.devices(device(0, "a"), device(1));
    }
}
