package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static dev.genv.enforcer.testsupport.HostBuilder.remote;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.EnvBuilder;
import dev.genv.enforcer.testsupport.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.Plans;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class WordsTest {

    @Test
    void terminating() {
        assertThat(terminating(process(63600).uses(0)))
                .isEqualTo("Terminating process 63600 from environment N/A that is running on GPU(s) 0");
        assertThat(terminating(process(67708).in("67609").uses(10, 2)))
                .isEqualTo("Terminating process 67708 from environment 67609 that is running on GPU(s) 2,10");
        assertThat(terminating(process(7).membershipUnknown().uses(0)))
                .isEqualTo("Terminating process 7 from environment N/A that is running on GPU(s) 0");
    }

    @Test
    void detaching() {
        assertThat(detaching(env("67609").user("raz")))
                .isEqualTo("Detaching environment 67609 of user raz from device 0");
    }

    @Test
    void aUserWithoutANameIsNotAvailable() {
        var words = "Detaching environment 67609 of user N/A from device 0";
        assertThat(detaching(env("67609").nameless())).isEqualTo(words);
        assertThat(detaching(env("67609").user(""))).isEqualTo(words);
    }

    @Test
    void whatBecameOfASignal() {
        assertThat(Words.notPermitted(63600)).isEqualTo("Not enough permissions to terminate process 63600");
        assertThat(Words.alreadyTerminated(63600)).isEqualTo("Process 63600 already terminated");
    }

    @Test
    void aMachineIsNamedInRemoteModeOnly() {
        assertThat(Words.on(remote(host("gpu-1")), "gpu-1")).isEqualTo("[gpu-1] ");
        assertThat(Words.on(host("gpu-1").fleet(), "gpu-1")).isEmpty();
    }

    @Test
    void whatStrangersWroteIsMadeHarmless() {
        assertThat(Words.safe("a\nProcess 1 already terminated")).isEqualTo("a\\u000aProcess 1 already terminated");
        assertThat(Words.safe("a\r\tb")).isEqualTo("a\\u000d\\u0009b");
        assertThat(Words.safe("\u001b[2J")).isEqualTo("\\u001b[2J");
        assertThat(Words.safe("\u0000\u007f\u009b")).isEqualTo("\\u0000\\u007f\\u009b");
        assertThat(Words.safe("ab\u202eba")).as("right to left").isEqualTo("ab\\u202eba");
        assertThat(Words.safe("a\u200bb\ufeff")).as("no width").isEqualTo("a\\u200bb\\ufeff");
        assertThat(Words.safe("a\u2028b\u2029")).as("other line ends").isEqualTo("a\\u2028b\\u2029");
        assertThat(Words.safe("\ud800x")).as("half a pair").isEqualTo("\\ud800x");
        assertThat(Words.safe("\udb40\udc41")).as("a tag").isEqualTo("\\U000e0041");
        assertThat(Words.safe("\ue000\uffff")).as("nobody's").isEqualTo("\\ue000\\uffff");
    }

    @Test
    void whatIsOnlyForeignStays() {
        assertThat(Words.safe("Zoë 李 😀 \\ \"")).isEqualTo("Zoë 李 😀 \\ \"");
    }

    @Test
    void whatStrangersWroteIsCut() {
        assertThat(Words.safe("x".repeat(128))).isEqualTo("x".repeat(128));
        assertThat(Words.safe("x".repeat(129))).isEqualTo("x".repeat(128) + "…");
        assertThat(Words.safe("😀".repeat(128))).isEqualTo("😀".repeat(128));
        assertThat(Words.safe("😀".repeat(200))).isEqualTo("😀".repeat(128) + "…");
        assertThat(Words.safe("\n".repeat(1_000_000))).hasSize(6 * 128 + 1);
        assertThat(Words.safe("x".repeat(200), 200)).isEqualTo("x".repeat(200));
        assertThat(Words.safe("x".repeat(3), 2)).isEqualTo("xx…");
    }

    @Test
    void nothingOfAStrangersReachesALineAsItIs() {
        var evil = "\u001b[31m\nUser root";
        var fleet = remote(host(evil)
                .devices(2)
                .with(
                        env(evil).user(evil).capacity("1\u2028").attached(0),
                        env("b" + evil).user(evil).capacity("1").attached(0))
                .with(
                        process(1).in(evil).uses(0, 1),
                        process(2).in("b" + evil).uses(0),
                        process(3).in("c" + evil).uses(0)));
        var limits = new DeviceLimits(0, Map.of());
        var plan = Plans.enforcing(limits, RuleName.values()).check(fleet, Set.of());
        assertThat(Plans.lines(plan))
                .hasSizeGreaterThan(7)
                .allSatisfy(line -> assertThat(line).matches("[ -~]*"));
        assertThat(plan.problems())
                .allSatisfy(problem -> assertThat(problem.problem().detail()).matches("[ -~]*"));
    }

    private static String terminating(GpuProcessBuilder process) {
        return Words.of(new Action.Terminate("here", process.build()));
    }

    private static String detaching(EnvBuilder env) {
        var snapshot = host().devices(1).with(env.attached(0)).snapshot();
        return Words.of(new Action.Detach(
                "here",
                snapshot.environments().getFirst(),
                0,
                snapshot.devices().getFirst().attachments().getFirst()));
    }
}
