package dev.genv.enforcer.node.state;

import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.host.StateFacts.StateFile;

/** The two state files as they were read. */
record StatePair(StateFile envs, StateFile devices) {
    static final String ENVS = "envs.json";
    static final String DEVICES = "devices.json";

    static StatePair of(StateDirectory directory) {
        return new StatePair(directory.read(ENVS), directory.read(DEVICES));
    }

    /** Whether each file is absent, or present with a content that is not torn. */
    boolean isComplete() {
        return isComplete(envs, bytes -> EnvsFile.of(GenvJson.read(bytes)))
                && isComplete(devices, bytes -> DevicesFile.of(GenvJson.read(bytes)));
    }

    private static boolean isComplete(StateFile file, Parser parser) {
        return switch (file) {
            case StateFile.Absent _ -> true;
            case StateFile.Unreadable _ -> false;
            case StateFile.Present(var content) -> {
                try {
                    parser.parse(content.array());
                    yield true;
                } catch (UnreadableException e) {
                    yield false;
                }
            }
        };
    }

    private interface Parser {
        Object parse(byte[] bytes) throws UnreadableException;
    }
}
