package dev.genv.enforcer.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Device.Attachment;
import java.time.LocalDateTime;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

class AttachmentTest {

    @Test
    void readsTheTimeThatGenvWrites() {
        assertThat(at("20/11/2026 09:22:28").attachedAt()).isEqualTo(LocalDateTime.of(2026, 11, 20, 9, 22, 28));
        assertThat(at("29/02/2028 00:00:00").attachedAt()).isEqualTo(LocalDateTime.of(2028, 2, 29, 0, 0));
    }

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"", "2026-11-20 09:22:28", "29/02/2026 09:22:28", "20/11/2026 24:00:00"})
    void unreadableTimeCountsAsOldest(@Nullable String time) {
        assertThat(at(time).attachedAt())
                .isEqualTo(LocalDateTime.MIN)
                .isBefore(at("01/01/0001 00:00:00").attachedAt());
    }

    @Test
    void deviceHasEachAttachmentOnceInOneOrder() {
        var other = new Attachment("b", null, null);
        var device = new Device(0, null, List.of(other, at("1"), at("0"), other, at("1")));
        assertThat(device.attachments()).containsExactly(at("0"), at("1"), other);
        assertThat(device.isAttachedTo("b")).isTrue();
        assertThat(device.isAttachedTo("c")).isFalse();
    }

    private static Attachment at(@Nullable String time) {
        return new Attachment("a", null, time);
    }
}
