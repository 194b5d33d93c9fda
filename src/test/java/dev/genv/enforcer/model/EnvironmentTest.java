package dev.genv.enforcer.model;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class EnvironmentTest {
    /** Uid 1000 has the subordinate uids from 100000. */
    private static final long SUBORDINATE = 100_007;

    private static final long OTHER_SUBORDINATE = 100_008;

    static Stream<Arguments> strangers() {
        return Stream.of(
                row("another user", env("a"), process(1).uid(1003), Ternary.YES),
                row("its user", env("a"), process(1), Ternary.NO),
                row("root", env("a"), process(1).uid(0), Ternary.NO),
                row("a real uid that cannot be read", env("a"), process(1).uidUnknown(), Ternary.UNKNOWN),
                row("the user of a live pid", env("a").uid(1003).livePidsOf(1000), process(1), Ternary.NO),
                row("a subordinate uid of its user", env("a"), process(1).uid(SUBORDINATE), Ternary.NO),
                row(
                        "a uid of a directory in the range of its user",
                        env("a"),
                        process(1).uid(SUBORDINATE).ofItsUid(),
                        Ternary.YES),
                row(
                        "a uid that may be a subordinate one of its user",
                        env("a"),
                        process(1).uid(SUBORDINATE).ownerUnknown(),
                        Ternary.UNKNOWN),
                row(
                        "a uid that may be a subordinate one of the user whose the recorded one may be",
                        env("a").uid(OTHER_SUBORDINATE),
                        process(1).uid(SUBORDINATE).ownerUnknown(),
                        Ternary.UNKNOWN),
                row(
                        "a uid that may be a subordinate one of another user, or that user's own",
                        env("a").uid(1003),
                        process(1).uid(SUBORDINATE).ownerUnknown(),
                        Ternary.YES),
                row(
                        "a uid of a user namespace of which no range is known",
                        env("a"),
                        process(1).uid(300_001).ownerUnknown(),
                        Ternary.UNKNOWN));
    }

    private static Arguments row(String name, EnvBuilder environment, GpuProcessBuilder process, Ternary expected) {
        return Arguments.of(name, environment, process, expected);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("strangers")
    void strangerIsWhoCanBeNoneOfItsUsers(
            String name, EnvBuilder environment, GpuProcessBuilder process, Ternary expected) {
        var host = host().subordinate(1000, 100_000, 65_536)
                .with(environment)
                .with(process)
                .snapshot();

        assertThat(host.environments().getFirst().isStranger(host.processes().getFirst()))
                .isEqualTo(expected);
    }
}
