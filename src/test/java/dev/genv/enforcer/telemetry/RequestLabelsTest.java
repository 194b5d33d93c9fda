package dev.genv.enforcer.telemetry;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tags;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RequestLabelsTest {
    @ParameterizedTest
    @CsvSource({
        "http.server.requests,uri,/hosts,/hosts",
        "http.server.requests,uri,/violations/{id},/violations/{id}",
        "http.server.requests,uri,NOT_FOUND,NOT_FOUND",
        "http.server.requests,uri,/attacker,OTHER",
        "http.server.requests,method,GET,GET",
        "http.server.requests,method,BREW,OTHER",
        "http.server.requests,status,418,418",
        "genv.enforcer.host.up,uri,/attacker,/attacker",
    })
    void replacesLabelValuesChosenByClients(String meter, String label, String value, String expected) {
        var id = new Meter.Id(meter, Tags.of(label, value), null, null, Meter.Type.TIMER);
        assertThat(new RequestLabels().map(id).getTag(label)).isEqualTo(expected);
    }
}
