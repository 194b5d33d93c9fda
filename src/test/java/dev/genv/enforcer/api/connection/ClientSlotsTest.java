package dev.genv.enforcer.api.connection;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ClientSlotsTest {
    private final ClientSlots slots = new ClientSlots(3, 2);

    @Test
    void oneAddressCannotTakeAllSlots() {
        assertThat(slots.take("a")).isTrue();
        assertThat(slots.take("a")).isTrue();
        assertThat(slots.take("a")).isFalse();
        assertThat(slots.take("b")).isTrue();
        assertThat(slots.refused()).isEqualTo(1);
    }

    @Test
    void allSlotsTogetherAreBounded() {
        assertThat(slots.take("a")).isTrue();
        assertThat(slots.take("b")).isTrue();
        assertThat(slots.take("c")).isTrue();
        assertThat(slots.take("d")).isFalse();
    }

    @Test
    void slotIsFreeAfterItsRelease() {
        slots.take("a");
        slots.take("a");
        slots.release("a");
        assertThat(slots.take("a")).isTrue();
        slots.release("a");
        slots.release("a");
        assertThat(slots.take("b")).isTrue();
        assertThat(slots.take("b")).isTrue();
        assertThat(slots.take("a")).isTrue();
        assertThat(slots.take("a")).isFalse();
    }
}
