package dev.genv.enforcer.api;

import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.format.DeleteEscaped;
import io.quarkus.jackson.ObjectMapperCustomizer;
import jakarta.inject.Singleton;

/** Lets answers be looked at in a terminal: what users wrote could move its cursor or turn the reading order round. */
@Singleton
public class AsciiAnswers implements ObjectMapperCustomizer {
    @Override
    public void customize(ObjectMapper mapper) {
        mapper.getFactory()
                .configure(JsonWriteFeature.ESCAPE_NON_ASCII.mappedFeature(), true)
                .configure(JsonWriteFeature.WRITE_HEX_UPPER_CASE.mappedFeature(), false) // as in genv's own files
                .setCharacterEscapes(new DeleteEscaped());
    }
}
