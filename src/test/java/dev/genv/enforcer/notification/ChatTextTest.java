package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.notice;
import static dev.genv.enforcer.notification.NoticeFixture.opened;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ChatTextTest {
    @Test
    void namesMachineRuleAndMode() {
        assertThat(WebhookBodies.chatText(
                        notice(opened(violationOf(process(812)).audited())).orElseThrow()))
                .isEqualTo("gpu-1: violation, rule non-env-processes (audit):"
                        + " `Process 812 is not running in a GPU environment`");
    }

    @Test
    void manyMachinesAreCut() {
        var hosts =
                IntStream.range(0, 10_000).mapToObj(number -> "gpu-" + number).toArray(String[]::new);
        var text = WebhookBodies.chatText(
                notice(opened(violationOf(process(812)).hosts(hosts))).orElseThrow());
        assertThat(text).startsWith("gpu-0, gpu-1, ").hasSizeLessThan(500);
    }

    /** In Slack and Mattermost these would notify everybody, or show a link. */
    @Test
    void textOfUsersNotifiesNobody() {
        var evil = violationOf(process(812))
                .message("a`<!channel> <http://evil|x> & \u001b[1m\n@all " + "x".repeat(9_000));
        var text = WebhookBodies.chatText(notice(opened(evil)).orElseThrow());
        assertThat(text).doesNotContainPattern("[<>&\\p{Cntrl}]").hasSizeLessThan(500);
        assertThat(text.chars().filter(each -> each == '`'))
                .as("one code span around it")
                .hasSize(2);
        assertThat(text).endsWith("`");
    }
}
