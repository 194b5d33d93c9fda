package dev.genv.enforcer.testsupport;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

/**
 * The time limits of waits in tests. A wait ends with its condition, so a long limit costs nothing, and a short one fails on a busy machine. JUnit sets the default of Awaitility through META-INF/services.
 */
public final class TestTimeouts implements LauncherSessionListener {
    /** Long enough for a busy machine; a test fails after it. */
    public static final Duration HANG = Duration.ofMinutes(3);

    @Override
    public void launcherSessionOpened(LauncherSession session) {
        Awaitility.setDefaultTimeout(HANG);
    }
}
