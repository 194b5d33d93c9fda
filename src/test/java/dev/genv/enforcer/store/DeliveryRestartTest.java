package dev.genv.enforcer.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.Test;

class DeliveryRestartTest extends StoreFixture {
    @Test
    void positionOfTheLastCycleIsRestored() throws IOException {
        cycle();
        deliveries.of("webhook").store(7);
        deliveries.of("other").store(9);
        cycle();
        deliveries.of("webhook").store(8); // no cycle ends after that
        restart();
        assertThat(deliveries.of("webhook").load()).hasValue(7);
        assertThat(deliveries.of("other").load()).hasValue(9);
    }

    /** The events of earlier runs are restored, although the processes of another boot are not. */
    @Test
    void positionSurvivesABootOfTheMachine() throws IOException {
        deliveries.of("webhook").store(7);
        cycle();
        processes = "boot 2";
        restart();
        assertThat(deliveries.of("webhook").load()).hasValue(7);
    }

    @Test
    void unknownReceiverHasNoPosition() throws IOException {
        cycle();
        restart();
        assertThat(deliveries.of("webhook").load()).isEmpty();
    }
}
