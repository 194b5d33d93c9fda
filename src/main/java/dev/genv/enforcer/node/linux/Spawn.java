package dev.genv.enforcer.node.linux;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.files.NativeFunction;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;

/** posix_spawn(3), which starts a program without a copy of the service's memory. Each method throws {@link Errno} if it fails. */
final class Spawn {
    /** More than a posix_spawn_file_actions_t of glibc, which has 80 bytes. */
    private static final int ACTIONS_SIZE = 256;

    /** More than a posix_spawnattr_t of glibc, which has 336 bytes. */
    private static final int ATTRIBUTES_SIZE = 512;
    /** The size of a sigset_t. */
    private static final int SIGNALS_SIZE = 128;

    private static final short SETSIGMASK = 8;
    private static final int STDOUT = 1;
    private static final int STDERR = 2;
    private static final int O_RDONLY = 0;

    private static final NativeFunction INIT = NativeFunction.of("posix_spawn_file_actions_init", JAVA_INT, ADDRESS);
    private static final NativeFunction DESTROY =
            NativeFunction.of("posix_spawn_file_actions_destroy", JAVA_INT, ADDRESS);
    private static final NativeFunction OPEN = NativeFunction.of(
            "posix_spawn_file_actions_addopen", JAVA_INT, ADDRESS, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT);
    private static final NativeFunction DUP2 =
            NativeFunction.of("posix_spawn_file_actions_adddup2", JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT);
    private static final NativeFunction CHDIR =
            NativeFunction.of("posix_spawn_file_actions_addchdir_np", JAVA_INT, ADDRESS, ADDRESS);
    private static final NativeFunction CLOSE_FROM =
            NativeFunction.of("posix_spawn_file_actions_addclosefrom_np", JAVA_INT, ADDRESS, JAVA_INT);
    private static final NativeFunction INIT_ATTRIBUTES = NativeFunction.of("posix_spawnattr_init", JAVA_INT, ADDRESS);
    private static final NativeFunction DESTROY_ATTRIBUTES =
            NativeFunction.of("posix_spawnattr_destroy", JAVA_INT, ADDRESS);
    private static final NativeFunction SET_FLAGS =
            NativeFunction.of("posix_spawnattr_setflags", JAVA_INT, ADDRESS, JAVA_SHORT);
    private static final NativeFunction SET_SIGNALS =
            NativeFunction.of("posix_spawnattr_setsigmask", JAVA_INT, ADDRESS, ADDRESS);
    private static final NativeFunction SPAWN =
            NativeFunction.of("posix_spawn", JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS);

    private Spawn() {}

    /**
     * Starts a program without input, in a directory, and returns its pid. It gets no other file descriptor of the service, and no
     * signal is blocked in it: Java's threads block SIGQUIT.
     *
     * @param command the path of the program and its arguments
     * @param stdout a descriptor for its output
     * @param stderr a descriptor for its error output
     */
    static int start(List<String> command, Map<String, String> environment, String directory, int stdout, int stderr)
            throws Errno {
        try (var arena = Arena.ofConfined()) {
            var actions = arena.allocate(ACTIONS_SIZE, Long.BYTES);
            var attributes = arena.allocate(ATTRIBUTES_SIZE, Long.BYTES);
            check("posix_spawn_file_actions_init", INIT.callOnce(actions));
            check("posix_spawnattr_init", INIT_ATTRIBUTES.callOnce(attributes));
            try {
                check("setflags", SET_FLAGS.callOnce(attributes, SETSIGMASK));
                check("setsigmask", SET_SIGNALS.callOnce(attributes, arena.allocate(SIGNALS_SIZE, Long.BYTES)));
                check("addopen", OPEN.callOnce(actions, 0, arena.allocateFrom("/dev/null"), O_RDONLY, 0));
                check("adddup2", DUP2.callOnce(actions, stdout, STDOUT));
                check("adddup2", DUP2.callOnce(actions, stderr, STDERR));
                check("addchdir", CHDIR.callOnce(actions, arena.allocateFrom(directory)));
                check("addclosefrom", CLOSE_FROM.callOnce(actions, STDERR + 1));
                var pid = arena.allocate(JAVA_INT);
                var variables = environment.entrySet().stream()
                        .map(variable -> variable.getKey() + "=" + variable.getValue())
                        .toList();
                check(
                        "posix_spawn",
                        SPAWN.callOnce(
                                pid,
                                arena.allocateFrom(command.getFirst()),
                                actions,
                                attributes,
                                strings(arena, command),
                                strings(arena, variables)));
                return pid.get(JAVA_INT, 0);
            } finally {
                DESTROY_ATTRIBUTES.callOnce(attributes);
                DESTROY.callOnce(actions);
            }
        }
    }

    /** These functions return the number of the error. */
    private static void check(String call, long result) throws Errno {
        if (result != 0) {
            throw new Errno(call, (int) result);
        }
    }

    private static MemorySegment strings(Arena arena, List<String> strings) {
        var array = arena.allocate(ADDRESS, strings.size() + 1L); // a null pointer ends it
        for (var i = 0; i < strings.size(); i++) {
            array.setAtIndex(ADDRESS, i, arena.allocateFrom(strings.get(i)));
        }
        return array;
    }
}
