package dev.genv.enforcer.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.config.Main.StartFailure;
import io.smallrye.config.ConfigValidationException;
import io.smallrye.config.ConfigValidationException.Problem;
import java.net.BindException;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

class StartFailureTest {
    @Test
    void namesTheAddressTheReasonAndTheVariables() {
        var reasons = Map.of(
                new BindException("Address already in use"),
                        "the port is in use, or this machine does not have the address",
                new UnknownHostException("gpu-1"), "the host name cannot be resolved",
                new UnsupportedAddressTypeException(), "this machine does not support this kind of address",
                new SocketException("Permission denied"), "Permission denied");
        reasons.forEach((cause, reason) -> assertThat(
                        report(new RuntimeException("Unable to start HTTP server", new ExecutionException(cause))))
                .isEqualTo(new StartFailure(
                        1,
                        List.of("genv-enforcer cannot start: it cannot listen on a quarkus.http.host port a"
                                + " quarkus.http.port; " + reason + " (QUARKUS_HTTP_HOST, QUARKUS_HTTP_PORT)"))));
    }

    @Test
    void namesTheVariablesOfTheManagementPort() {
        var failure = new IllegalStateException(
                "Unable to start the management interface on h:-3", new UnknownHostException("h"));

        assertThat(report(failure).lines())
                .containsExactly("genv-enforcer cannot start: it cannot listen on a quarkus.management.host port a"
                        + " quarkus.management.port; the host name cannot be resolved (QUARKUS_MANAGEMENT_HOST,"
                        + " QUARKUS_MANAGEMENT_PORT)");
    }

    @Test
    void reportsEveryValueThatQuarkusRefuses() {
        var invalid = new ConfigValidationException(new Problem[] {
            new Problem(
                    "java.lang.IllegalArgumentException: SRCFG00039: The config property a.level with the config value"
                            + " \"x\n"
                            + "y\" threw an Exception"),
            new Problem("something else"),
        });

        assertThat(report(new RuntimeException("Failed to start quarkus", invalid)))
                .isEqualTo(new StartFailure(
                        2,
                        List.of(
                                "genv-enforcer cannot start: The config property a.level with the config value"
                                        + " \"x\\u000ay\" threw an Exception",
                                "genv-enforcer cannot start: something else")));
    }

    @Test
    void explainsNoDefect() {
        assertThat(StartFailure.of(new IllegalStateException("a defect"), name -> "a " + name))
                .isEmpty();
    }

    private static StartFailure report(Throwable failure) {
        return StartFailure.of(failure, name -> "a " + name).orElseThrow();
    }
}
