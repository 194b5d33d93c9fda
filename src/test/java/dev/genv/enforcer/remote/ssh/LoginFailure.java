package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import java.time.Duration;
import org.assertj.core.api.AbstractStringAssert;

/** Asserts why a machine is unreachable. */
public final class LoginFailure {
    private LoginFailure() {}

    public static AbstractStringAssert<?> assertRefused(CommandConnection connection, ProblemCode code) {
        return assertRefused(connection, code, HANG);
    }

    public static AbstractStringAssert<?> assertRefused(
            CommandConnection connection, ProblemCode code, Duration timeout) {
        var thrown = catchThrowableOfType(
                UnreachableException.class, () -> connection.run(TestFleet.request("true", timeout)));
        assertThat(thrown).as("somebody who cannot be reached").isNotNull();
        assertThat(thrown.code()).as(thrown.getMessage()).isEqualTo(code);
        return assertThat(thrown.getMessage());
    }
}
