package dev.genv.enforcer.remote.genv;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.model.device.Device.Attachment;
import dev.genv.enforcer.policy.plan.Action;
import org.junit.jupiter.api.Test;

class GenvDetachmentTest extends GenvExecutionSuite {
    @Test
    void doesNotDetachRenewedAttachment() throws Exception {
        connection.thenReturn(SNAPSHOT.replace("10:02:11", "10:02:12"));
        execute(detach("67609", 1));
        assertOutcomes(Outcome.ALREADY_DETACHED);
        assertThat(connection.requests()).hasSize(1);
    }

    /** genv removes all attachments of an environment to a device. */
    @Test
    void doesNotDetachBesideAnUnobservedAttachment() throws Exception {
        var twice = SNAPSHOT.replaceFirst(
                "(\\{\\s*\"eid\": \"67609\",\\s*\"gpu_memory\": null,\\s*\"time\": \")20/11/2026 10:02:11(\"\\s*})",
                "$120/11/2026 10:02:11$2, $120/11/2026 11:00:00$2");
        assertThat(twice).isNotEqualTo(SNAPSHOT);
        connection.thenReturn(twice);
        execute(detach("67609", 0));
        assertThat(results.values())
                .singleElement()
                .satisfies(result -> assertThat(result.detail()).contains("more than once"));
        connection.thenReturn(twice).thenReturn("").thenReturn(FRESH_SNAPSHOT);
        var other = new Attachment("67609", null, "20/11/2026 11:00:00");
        execute(detach("67609", 0), new Action.Detach("gpu-1", environment("67609"), 0, other));
        assertOutcomes(Outcome.DETACHED, Outcome.DETACHED);
        assertThat(connection.requests().get(2).input().split("\"envs\"", -1)).hasSize(2);
    }

    /** genv takes the Nth entry for device N. */
    @Test
    void doesNotDetachWhenDevicesAreOutOfOrder() throws Exception {
        connection.thenReturn(SNAPSHOT.replaceFirst("1(,\\s*\"total_memory\")", "3$1")
                .replaceFirst("2(,\\s*\"total_memory\")", "1$1"));
        var attachment = new Attachment("67609", null, "20/11/2026 10:02:11");
        execute(new Action.Detach("gpu-1", environment("67609"), 3, attachment));
        assertThat(results.values())
                .singleElement()
                .satisfies(result -> assertThat(result.detail()).contains("in order"));
        assertThat(connection.requests()).hasSize(1);
    }

    @Test
    void environmentWithAnExtraKeyIsNotSent() throws Exception {
        connection
                .thenReturn(SNAPSHOT.replace("\"uid\": 1004", "\"extra\": 1, \"uid\": 1004"))
                .thenReturn("");
        execute(detach("67609", 1), terminate(63600));
        assertOutcomes(Outcome.FAILED, Outcome.SIGNALLED);
        assertThat(connection.requests().get(1).input()).doesNotContain("extra");
    }

    @Test
    void environmentAboveTheMaximumSizeIsNotSent() throws Exception {
        connection.thenReturn(SNAPSHOT.replace("\"train\"", "\"" + "x".repeat(70_000) + "\""));
        execute(detach("67609", 1));
        assertOutcomes(Outcome.FAILED);
        assertThat(connection.requests()).hasSize(1);
    }

    @Test
    void detachmentFailsIfTheDeviceIsStillAttached() throws Exception {
        connection.thenReturn(SNAPSHOT).thenReturn("").thenReturn(SNAPSHOT);
        execute(detach("67609", 1));
        assertThat(results.values())
                .singleElement()
                .satisfies(result -> assertThat(result.detail()).contains("still attached"));
    }
}
