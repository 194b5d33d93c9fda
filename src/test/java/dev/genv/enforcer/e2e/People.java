package dev.genv.enforcer.e2e;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.genv.enforcer.testsupport.Myself;
import java.io.IOException;

/** Users whom no machine has an account for, so that nothing but their uids tells who they are. */
final class People {
    static final int BOB = 54_001;
    static final int MALLORY = 54_002;

    private People() {}

    static void assumeThatTheyCanBe() throws IOException {
        assumeTrue(Myself.isRoot(), "only root can start processes of other users");
    }
}
