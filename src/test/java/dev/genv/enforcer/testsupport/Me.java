package dev.genv.enforcer.testsupport;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Who runs the tests. */
public final class Me {
    private Me() {}

    public static int uid() {
        try {
            return (int) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static String name() {
        return System.getProperty("user.name");
    }

    public static boolean isRoot() {
        return uid() == 0;
    }
}
