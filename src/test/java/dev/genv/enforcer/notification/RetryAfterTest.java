package dev.genv.enforcer.notification;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.notification.WebhookDelivery.WebhookSender;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RetryAfterTest {
    private static final Duration LONGEST = Duration.ofHours(1);

    @ParameterizedTest
    @CsvSource({
        "0,0",
        "120,120",
        " 120 ,120",
        "999999999,3600",
        "'Fri, 20 Nov 2026 09:24:28 GMT',120",
        "'Fri, 20 Nov 2026 09:00:00 GMT',0",
        "'Sat, 20 Nov 2027 09:00:00 GMT',3600"
    })
    void isATimeOfAtMostAnHour(String value, long seconds) {
        assertThat(parse(value)).contains(Duration.ofSeconds(seconds));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "-1", "1.5", "soon", "99999999999", "Fri, 20 Nov 2026"})
    void invalidValueIsIgnored(String value) {
        assertThat(parse(value)).isEmpty();
    }

    @Test
    void missingHeaderIsNoTime() {
        assertThat(WebhookSender.retryAfter(null, FakeTime.START, LONGEST)).isEmpty();
    }

    private static Optional<Duration> parse(String value) {
        return WebhookSender.retryAfter(value, FakeTime.START, LONGEST);
    }
}
