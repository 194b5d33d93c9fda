package dev.genv.enforcer.node.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.fake.Mutations;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A machine on which nobody breaks a rule. Each person has environments with a shell, and on each of their devices a job. Nobody holds
 * more than {@link #MAX_DEVICES}, and some hold exactly that many.
 */
final class FuzzNode {
    static final int MAX_DEVICES = 2;
    static final int DEVICES = 5;
    private static final List<String> NAMES = List.of("alice", "bob", "carol", "dave", "attacker");
    /** A user of a directory service. */
    private static final String NOT_IN_PASSWD = "dave";

    private static final int FIRST_UID = 1000;

    final List<Person> people;
    final Evidence original;
    private final List<JsonNode> originalEnvs;
    private final List<JsonNode> originalDevices;
    final FakeProc proc;
    private final Map<Integer, FakeProc.FakeProcess> processes = new HashMap<>();

    /** What the service reads. The files are in ISO 8859-1, one character for each byte; null for an absent one. */
    record Evidence(
            @Nullable String envs,
            @Nullable String devices,
            String gpus,
            String processes,
            Map<Integer, byte[]> environs) {

        static byte @Nullable [] bytes(@Nullable String file) {
            return file == null ? null : file.getBytes(StandardCharsets.ISO_8859_1);
        }

        /** Changes a part of it. */
        Evidence corrupted(Mutations random) {
            var which = random.oneIn(2) ? random.number(3) : 3;
            var all = new TreeMap<>(environs);
            if (random.oneIn(2)) {
                var pids = List.copyOf(all.keySet());
                var pid = random.pick(pids);
                var source = Objects.requireNonNull(all.get(random.oneIn(3) ? random.pick(pids) : pid));
                all.put(pid, random.oneIn(3) ? source : random.bytes(source));
            }
            return new Evidence(
                    which == 1 || which == 2 ? corrupted(envs, random) : envs,
                    which == 0 || which == 2 ? corrupted(devices, random) : devices,
                    random.oneIn(3) ? corruptedLines(gpus, random) : gpus,
                    random.oneIn(2) ? corruptedLines(processes, random) : processes,
                    all);
        }

        private static @Nullable String corrupted(@Nullable String file, Mutations random) {
            var content = bytes(file);
            return content == null || random.oneIn(20)
                    ? null
                    : new String(
                            random.oneIn(4) ? random.bytes(content) : random.json(content),
                            StandardCharsets.ISO_8859_1);
        }

        private static String corruptedLines(String text, Mutations random) {
            return random.oneIn(3)
                    ? new String(random.bytes(text.getBytes(StandardCharsets.UTF_8)), StandardCharsets.UTF_8)
                    : random.lines(text);
        }
    }

    FuzzNode(Path folder, Mutations random) throws IOException {
        people = IntStream.range(0, NAMES.size())
                .mapToObj(number -> person(number, random))
                .toList();
        proc = new FakeProc(Files.createDirectories(folder));
        var environs = new TreeMap<Integer, byte[]>();
        for (var person : people) {
            for (var env : person.envs()) {
                var environ = "PATH=/bin\0GENV_ENVIRONMENT_ID=%s\0LANG=C\0".formatted(env.eid());
                var pids = new ArrayList<>(env.jobs().values());
                pids.add(env.shell());
                for (var pid : pids) {
                    environs.put(pid, environ.getBytes(StandardCharsets.UTF_8));
                    processes.put(pid, proc.process(pid).uid(person.uid()));
                }
            }
        }
        original = evidence(environs);
        originalEnvs = Objects.requireNonNull(entries(original.envs, "envs", EnvsFile::of));
        originalDevices = Objects.requireNonNull(entries(original.devices, "devices", DevicesFile::of));
        write(environs);
    }

    /** The machine's passwd(5). */
    String passwd() {
        return people.stream()
                .filter(person -> !person.name().equals(NOT_IN_PASSWD))
                .map(person -> "%s:x:%d:100::/:/bin/sh\n".formatted(person.name(), person.uid()))
                .collect(Collectors.joining());
    }

    /** Makes these the environments of the processes. */
    void write(Map<Integer, byte[]> environs) throws IOException {
        for (var environ : environs.entrySet()) {
            Objects.requireNonNull(processes.get(environ.getKey())).environ(environ.getValue());
        }
    }

    private static Person person(int number, Mutations random) {
        var count = 1 + random.number(MAX_DEVICES);
        var held = new TreeSet<Integer>();
        while (held.size() < count) {
            held.add(random.number(DEVICES));
        }
        var envs = new ArrayList<Person.Env>();
        var several = random.oneIn(2);
        for (var device : held) {
            if (envs.isEmpty() || several) {
                var shell = 2000 + 100 * number + 10 * envs.size();
                envs.add(new Person.Env(
                        Integer.toString(shell), shell, random.oneIn(2) ? "1000mi" : null, new TreeMap<>()));
            }
            var env = envs.getLast();
            env.jobs().put(device, env.shell() + 1 + env.jobs().size());
        }
        return new Person(NAMES.get(number), FIRST_UID + number, envs);
    }

    private Evidence evidence(Map<Integer, byte[]> environs) {
        var state = new StateFiles(proc.root());
        var holders = new TreeMap<Integer, List<String>>();
        var processes = new StringBuilder();
        for (var person : people) {
            for (var env : person.envs()) {
                state.env(env.eid(), person.uid(), person.name(), env.capacity(), env.shell());
                env.jobs().forEach((device, pid) -> {
                    holders.computeIfAbsent(device, _ -> new ArrayList<>()).add(env.eid());
                    processes.append("%s, %d, 900\n".formatted(FakeNvidiaSmi.uuid(device), pid));
                });
            }
        }
        for (var device = 0; device < DEVICES; device++) {
            state.device(device, holders.getOrDefault(device, List.of()).toArray(String[]::new));
        }
        var gpus = IntStream.range(0, DEVICES)
                .mapToObj(device -> "%d, %s, 0\n".formatted(device, FakeNvidiaSmi.uuid(device)))
                .collect(Collectors.joining());
        return new Evidence(
                state.envsJson(), // genv writes ASCII alone
                state.devicesJson(),
                gpus,
                processes.toString(),
                environs);
    }

    /**
     * Returns the people whose data is unchanged: their entries in both state files, the lines of their processes and devices, and their
     * environs. Forged entries may have been added. A file that is absent or cannot be parsed says nothing against anybody. A file that
     * can be parsed and lacks an entry does, and so does a machine without any trace of genv.
     */
    List<Person> unaffected(Evidence now) {
        var envs = entries(now.envs, "envs", EnvsFile::of);
        var devices = entries(now.devices, "devices", DevicesFile::of);
        var trace = now.envs != null
                || (devices == null
                        ? now.devices != null
                        : devices.stream()
                                .anyMatch(device -> !device.path("attachments").isEmpty()));
        return people.stream()
                .filter(person -> trace
                        && (envs == null || envs.containsAll(ownEnvs(person)))
                        && (devices == null || devices.containsAll(ownDevices(person)))
                        && hasSameLines(now.processes, original.processes, 1, texts(person.pids()))
                        && hasSameLines(now.gpus, original.gpus, 1, uuids(person))
                        && person.pids().stream()
                                .allMatch(pid -> Arrays.equals(now.environs.get(pid), original.environs.get(pid))))
                .toList();
    }

    private List<JsonNode> ownEnvs(Person person) {
        var ids = person.envs().stream().map(Person.Env::eid).collect(Collectors.toSet());
        return originalEnvs.stream()
                .filter(entry -> ids.contains(entry.path("eid").textValue()))
                .toList();
    }

    private List<JsonNode> ownDevices(Person person) {
        return originalDevices.stream()
                .filter(entry -> person.devices().contains(entry.path("index").intValue()))
                .toList();
    }

    private static boolean hasSameLines(String now, String before, int field, Set<String> values) {
        return now.equals(before) || lines(now, field, values).equals(lines(before, field, values));
    }

    /** Returns the lines whose field has one of these values. */
    private static List<String> lines(String text, int field, Set<String> values) {
        return text.lines()
                .filter(line -> {
                    var fields = line.split(",", -1);
                    return fields.length > field && values.contains(fields[field].strip());
                })
                .toList();
    }

    private static Set<String> texts(Collection<Integer> numbers) {
        return numbers.stream().map(String::valueOf).collect(Collectors.toSet());
    }

    private static Set<String> uuids(Person person) {
        return person.devices().stream().map(FakeNvidiaSmi::uuid).collect(Collectors.toSet());
    }

    record Person(String name, long uid, List<Env> envs) {
        Set<Integer> devices() {
            return envs.stream()
                    .flatMap(env -> env.jobs.keySet().stream())
                    .collect(Collectors.toCollection(TreeSet::new));
        }

        Set<Integer> pids() {
            var pids = new TreeSet<Integer>();
            envs.forEach(env -> {
                pids.add(env.shell);
                pids.addAll(env.jobs.values());
            });
            return pids;
        }

        /** Whether an action terminates a process of this person, or detaches a device that it uses. */
        boolean isHarmedBy(Action action) {
            return switch (action) {
                case Action.Terminate terminate ->
                    pids().contains(terminate.process().pid());
                case Action.Detach detach ->
                    envs.stream()
                            .anyMatch(env -> env.eid.equals(detach.environment().eid())
                                    && env.jobs.containsKey(detach.device())
                                    && StateFiles.TIME.equals(
                                            detach.attachment().time()));
            };
        }

        /** An environment and its jobs, by the device on which each runs. */
        record Env(String eid, int shell, @Nullable String capacity, Map<Integer, Integer> jobs) {}
    }

    private interface Parser {
        Object parse(JsonNode root) throws UnreadableException;
    }

    /** Returns the entries of a state file; null if it is absent or cannot be read. */
    private static @Nullable List<JsonNode> entries(@Nullable String file, String list, Parser parser) {
        var bytes = Evidence.bytes(file);
        if (bytes == null) {
            return null;
        }
        try {
            var root = GenvJson.read(bytes);
            assertThat(parser.parse(root)).isNotNull();
            return root.path(list).isArray() ? root.path(list).valueStream().toList() : List.of();
        } catch (UnreadableException e) {
            return null;
        }
    }
}
