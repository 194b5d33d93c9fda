package dev.genv.enforcer.policyfile;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.testsupport.PolicyKeys;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The JSON schema for editors has the keys that the service reads. */
class PolicySchemaTest {
    private static final Path SCHEMA = Path.of("src/site/markdown/policy.schema.json");

    @ParameterizedTest
    @CsvSource({
        "'',/properties",
        "rules,/definitions/rules/properties",
        "max_devices,/definitions/max_devices/properties",
        "max_memory,/definitions/max_memory/properties",
        "exceptions,/properties/exceptions/items/properties",
        "hours,/properties/hours/items/properties",
        "exempt,/properties/exempt/properties"
    })
    void hasTheKeysOfTheFile(String place, String pointer) throws Exception {
        JsonNode schema = new ObjectMapper().readTree(SCHEMA.toFile());
        assertThat(schema.at(pointer).properties())
                .extracting(Map.Entry::getKey)
                .containsExactlyInAnyOrderElementsOf(PolicyKeys.at(place));
    }
}
