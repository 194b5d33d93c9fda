package dev.genv.enforcer.api;

import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.genv.GenvJson;
import io.quarkus.jackson.ObjectMapperCustomizer;
import jakarta.inject.Singleton;

/** Writes responses as ASCII, because text of users could control a terminal or change the reading direction. */
@Singleton
public class AsciiJsonCustomizer implements ObjectMapperCustomizer {
    @Override
    public void customize(ObjectMapper mapper) {
        mapper.getFactory()
                .configure(JsonWriteFeature.ESCAPE_NON_ASCII.mappedFeature(), true)
                .configure(JsonWriteFeature.WRITE_HEX_UPPER_CASE.mappedFeature(), false) // as in genv's files
                .setCharacterEscapes(new GenvJson.PythonEscapes());
    }
}
