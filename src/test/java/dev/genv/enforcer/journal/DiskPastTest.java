package dev.genv.enforcer.journal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.Test;

/** Events on the disk, as the report reads them. */
class DiskPastTest extends JournalFixture {
    @Test
    void eventsBeginWithTheStartOfTheServiceAlsoWithoutObservations() throws IOException {
        var past = new DiskPast(directory);
        assertThat(past.beginOfEvents()).isEmpty();

        var first = cycle();
        cycle();

        assertThat(past.beginOfEvents().orElseThrow()).isBeforeOrEqualTo(first.startedAt());
        assertThat(past.begin()).isEmpty();
    }
}
