package dev.genv.enforcer.observation;

/** How the service is given a privilege: as a container on the machine, or as a login over SSH. */
public enum Advice {
    CONTAINER(
            "this is not the host's PID namespace",
            "run with --pid=host",
            "run as root with --cap-add %s",
            "%s cannot be written, so nothing can be detached: mount it writable, with mode 0777"),
    LOGIN(
            "this login is not in the host's PID namespace",
            "log in on the host itself, not in a container",
            "log in as root, or let sudo give it",
            "%s cannot be written on the machine, so nothing can be detached: set its mode to 0777");

    private final String otherNamespace;
    private final String enterNamespace;
    private final String addCapability;
    private final String openState;

    Advice(String otherNamespace, String enterNamespace, String addCapability, String openState) {
        this.otherNamespace = otherNamespace;
        this.enterNamespace = enterNamespace;
        this.addCapability = addCapability;
        this.openState = openState;
    }

    /** Why no action is executed outside the host's PID namespace. */
    String namespaceReason() {
        return otherNamespace + ": " + enterNamespace;
    }

    /** The same with the consequence. */
    String namespace() {
        var place = this == CONTAINER ? "here" : "there";
        return "%s, so the pids of GPU processes refer to other processes %s: %s"
                .formatted(otherNamespace, place, enterNamespace);
    }

    String capability(String name) {
        return addCapability.formatted(name);
    }

    String state(String directory) {
        return openState.formatted(directory);
    }
}
