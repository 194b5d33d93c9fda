package dev.genv.enforcer.node;

import dev.genv.enforcer.format.DevicesFile;
import dev.genv.enforcer.format.EnvsFile;
import dev.genv.enforcer.model.Problem;

/** The two state files as they stood at one moment. */
record State(File<EnvsFile> envs, File<DevicesFile> devices) {
    /** A machine on which nobody has used genv yet. */
    static final State ABSENT = new State(new File.Absent<>(), new File.Absent<>());

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
