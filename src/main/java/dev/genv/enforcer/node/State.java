package dev.genv.enforcer.node;

import dev.genv.enforcer.format.DevicesFile;
import dev.genv.enforcer.format.EnvsFile;
import dev.genv.enforcer.model.Problem;
import java.util.ArrayList;
import java.util.List;

/**
 * The two state files as they stood at one moment.
 *
 * @param problems what was wrong besides the files themselves
 */
record State(File<EnvsFile> envs, File<DevicesFile> devices, List<Problem> problems) {
    /** A machine on which nobody has used genv yet. */
    static final State ABSENT = new State(new File.Absent<>(), new File.Absent<>());

    State(File<EnvsFile> envs, File<DevicesFile> devices) {
        this(envs, devices, List.of());
    }

    /** The same with a problem more. */
    State with(Problem problem) {
        var all = new ArrayList<>(problems);
        all.add(problem);
        return new State(envs, devices, List.copyOf(all));
    }

    boolean isReadable() {
        return !(envs instanceof File.Unreadable) && !(devices instanceof File.Unreadable);
    }

    static State unreadable(Problem why) {
        return new State(new File.Unreadable<>(why), new File.Unreadable<>(why));
    }

    /** A file that is there, is not there, or cannot be read. */
    sealed interface File<T> {
        record Present<T>(T content) implements File<T> {}

        record Absent<T>() implements File<T> {}

        record Unreadable<T>(Problem problem) implements File<T> {}
    }
}
