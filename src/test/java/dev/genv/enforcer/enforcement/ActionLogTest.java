package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class ActionLogTest {
    private static final Action TERMINATE = new Action.Terminate(
            "gpu-1", process(812).inEnvironment("a\n\"b").uid(1003).uses(0, 1).build());
    private static final Action DETACH =
            new Action.Detach("gpu-1", env("a").uid(7).build(), 2, new Attachment("a", null, null));

    @Test
    void actionsAreLoggedInAFixedFormat() {
        assertThat(ActionLog.fixedForm(actionRecord(TERMINATE, Result.of(Outcome.SIGNALLED))))
                .isEqualTo("action=terminate rules=env-devices host=gpu-1 pid=812 start_time=991232 uid=1003"
                        + " environment=\"a\\u000a'b\" devices=0,1 signal=TERM outcome=signalled detail=\"\"");
        assertThat(ActionLog.fixedForm(actionRecord(DETACH, Result.failed("disk\nfull"))))
                .isEqualTo("action=detach rules=env-devices host=gpu-1 pid=- start_time=- uid=7"
                        + " environment=\"a\" devices=2 signal=- outcome=failed detail=\"disk\\u000afull\"");
    }

    /** A parser must find the closing quote, and no escape that a user wrote. */
    @Test
    void untrustedTextCannotCloseItsQuotes() {
        var job =
                new Action.Terminate("gpu-1", process(812).inEnvironment("x\\").build());
        assertThat(ActionLog.fixedForm(actionRecord(job, Result.failed("\\\" outcome=exited \\u000a"))))
                .contains(" environment=\"x\\u005c\" devices=")
                .endsWith(" detail=\"\\u005c' outcome=exited \\u005cu000a\"");

        var detach = new Action.Detach("gpu-1", env("a\\").uid(7).build(), 2, new Attachment("a", null, null));
        assertThat(ActionLog.fixedForm(actionRecord(detach, Result.of(Outcome.DETACHED))))
                .contains(" environment=\"a\\u005c\" devices=2 ");
    }

    @Test
    void processWithoutEnvironmentIsShownAsNotAvailable() {
        var stray = new Action.Terminate("gpu-1", process(812).uses(0).build());
        assertThat(ActionLog.fixedForm(actionRecord(stray, Result.of(Outcome.SIGNALLED))))
                .contains(" environment=\"N/A\" ");
    }

    @Test
    void linesUseGenvsWordingAndNameTheOutcome() {
        assertThat(lines(TERMINATE, Result.of(Outcome.ALREADY_GONE), false))
                .containsExactly(
                        "Terminating process 812 from environment a\\u000a\"b that is running on GPU(s) 0,1",
                        "Process 812 already terminated");
        assertThat(lines(TERMINATE, Result.of(Outcome.DENIED), true))
                .last()
                .isEqualTo("[gpu-1] Not enough permissions to terminate process 812");
        assertThat(lines(DETACH, Result.of(Outcome.DETACHED), true))
                .containsExactly("[gpu-1] Detaching environment a of user raz from device 2");
        assertThat(lines(DETACH, Result.of(Outcome.ALREADY_DETACHED), false))
                .containsExactly("Detaching environment a of user raz from device 2 (already_detached: nothing to do)");
    }

    private static List<String> lines(Action action, Result result, boolean remote) {
        return ActionLog.lines(new Fleet(List.of(), remote), actionRecord(action, result));
    }

    private static ActionRecord actionRecord(Action action, Result result) {
        var cause = new Violation(KnownRules.ENV_DEVICES, "gpu-1", "…", "…", null, null, List.of(), List.of());
        return new ActionRecord(new PlannedAction(action, List.of(cause), true), result, Instant.EPOCH);
    }
}
