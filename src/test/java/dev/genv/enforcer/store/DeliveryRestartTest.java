package dev.genv.enforcer.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.Test;

class DeliveryRestartTest extends StoreFixture {
    @Test
    void positionOfTheLastCycleIsRestored() throws IOException {
        cycle();
        deliveries.store("webhook", 7);
        deliveries.store("other", 9);
        cycle();
        deliveries.store("webhook", 8); // no cycle ends after that
        restart();
        assertThat(deliveries.load("webhook")).hasValue(7);
        assertThat(deliveries.load("other")).hasValue(9);
    }

    /** The events of earlier runs are restored, although the processes of another boot are not. */
    @Test
    void positionSurvivesABootOfTheMachine() throws IOException {
        deliveries.store("webhook", 7);
        cycle();
        processes = "boot 2";
        restart();
        assertThat(deliveries.load("webhook")).hasValue(7);
    }

    @Test
    void unknownReceiverHasNoPosition() throws IOException {
        cycle();
        restart();
        assertThat(deliveries.load("webhook")).isEmpty();
    }
}
