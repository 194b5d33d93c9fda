package dev.genv.enforcer.config.start;

import io.quarkus.bootstrap.runner.AotQuarkusEntryPoint;

/**
 * The main class of the packaged service. It is near the beginning of the class path, so it runs even with too few file descriptors
 * for Quarkus, which would report a missing class.
 */
public final class Launcher {
    private Launcher() {}

    /** Checks what Quarkus needs, then starts the service. */
    public static void main(String... arguments) throws Throwable {
        var problem = DescriptorLimit.problem();
        if (problem.isPresent()) {
            System.err.println(problem.get());
            System.exit(StartFailure.EXIT_CODE);
        }
        AotQuarkusEntryPoint.main(arguments);
    }
}
