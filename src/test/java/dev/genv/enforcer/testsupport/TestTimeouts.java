package dev.genv.enforcer.testsupport;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

/**
 * How long a test waits for what has to happen. A wait ends as soon as it has happened, so a long limit costs nothing; a short
 * one fails on a busy machine. JUnit makes it the default of Awaitility by way of META-INF/services.
 */
public final class TestTimeouts implements LauncherSessionListener {
    /** Long enough for a busy machine; a test that waits for it fails. */
    public static final Duration HANG = Duration.ofMinutes(3);

    @Override
    public void launcherSessionOpened(LauncherSession session) {
        Awaitility.setDefaultTimeout(HANG);
    }
}
