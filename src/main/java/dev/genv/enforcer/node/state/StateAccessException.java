package dev.genv.enforcer.node.state;

import dev.genv.enforcer.host.StateFacts.Directory;

/** The state directory cannot be accessed. */
final class StateAccessException extends Exception {
    private static final long serialVersionUID = 1L;

    private final transient Directory directory;

    StateAccessException(Directory directory, String message) {
        super(message);
        this.directory = directory;
    }

    /** Returns why, as the fact of the directory. */
    Directory directory() {
        return directory;
    }
}
