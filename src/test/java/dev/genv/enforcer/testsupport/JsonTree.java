package dev.genv.enforcer.testsupport;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;

/** The JSON of a record of the API as a tree. */
public final class JsonTree {
    private static final ObjectMapper MAPPER =
            new ObjectMapper().setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE);

    private JsonTree() {}

    public static JsonNode of(Object view) {
        return MAPPER.valueToTree(view);
    }
}
