package dev.genv.enforcer.policyfile;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.policy.PolicyDocument;
import dev.genv.enforcer.policy.PolicyValues;
import dev.genv.enforcer.policyfile.PolicyReader.InvalidPolicyException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A document in the form of the file is read as the same document. */
class PolicyFormTest {
    private static final Instant NOON = Instant.parse("2026-11-29T12:00:00Z");

    @Test
    void theFormOfAFileIsTheSamePolicyAtEachTime() throws Exception {
        var document = PolicyReaderTest.read(PolicyReaderTest.EXAMPLE);

        var again = read(document.form(NOON));

        // Around the begin and the end of both exceptions and of the hours.
        for (var hour = 0; hour < 24 * 24; hour++) {
            var time = NOON.plusSeconds(3600L * hour);
            assertThat(again.at(time, PolicyValues.NONE).texts())
                    .as(time.toString())
                    .isEqualTo(document.at(time, PolicyValues.NONE).texts());
        }
    }

    @Test
    void theFormHasTheValuesOfVariablesButNoneOfHours() throws Exception {
        var variables = PolicyReaderTest.read("max_devices: {default: 1, users: {ada: 5}}\n");
        var file = PolicyReaderTest.read(
                "hours:\n- {days: 'Mon-Sun', from: '00:00', to: '00:00', max_devices: {default: 4}}\n");

        var form = file.over(variables.values()).form(NOON);

        assertThat(form.get("max_devices"))
                .isEqualTo(Map.of("default", "1", "groups", Map.of(), "users", Map.of("ada", "5")));
        assertThat(form.get("hours"))
                .isEqualTo(List.of(Map.of(
                        "days",
                        "Mon,Tue,Wed,Thu,Fri,Sat,Sun",
                        "from",
                        "00:00",
                        "to",
                        "00:00",
                        "max_devices",
                        Map.of("default", "4"))));
    }

    @Test
    void theFormHasNoExceptionThatHasEnded() throws Exception {
        var document = PolicyReaderTest.read(PolicyReaderTest.EXAMPLE);

        assertThat(document.form(Instant.parse("2026-12-02T00:00:00Z")).get("exceptions"))
                .isEqualTo(List.of(Map.of(
                        "group", "course-ml",
                        "max_devices", "1",
                        "from", "2026-11-29T23:00:00Z",
                        "until", "2026-12-20T23:00:00Z",
                        "reason", "")));
    }

    private static PolicyDocument read(Map<String, Object> form)
            throws JsonProcessingException, InvalidPolicyException {
        return PolicyReaderTest.read(new ObjectMapper().writeValueAsString(form));
    }
}
