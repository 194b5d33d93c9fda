package dev.genv.enforcer.store;

import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.AnnotationIntrospector;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.InjectableValues;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import dev.genv.enforcer.genv.NullableComponents;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.store.RecordModule.NoDetails;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** The JSON of the database. A record of another version is read if it has every component that this version needs. */
public final class RecordJson {
    private static final Logger LOG = Logger.getLogger(RecordJson.class);
    private static final int DEEPEST = 64;
    private static final int LONGEST_TEXT = 16 << 20;
    private static final ObjectMapper MAPPER = mapper();

    private RecordJson() {}

    public static byte[] write(Object fields) {
        try {
            return MAPPER.writeValueAsBytes(fields);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns a value as JSON. */
    public static String text(Object value) {
        return new String(write(value), StandardCharsets.UTF_8);
    }

    public static void write(OutputStream out, Object fields) throws IOException {
        MAPPER.writeValue(out, fields);
    }

    public static JsonNode tree(@Nullable Object value) {
        return MAPPER.valueToTree(value);
    }

    /** Returns a record; empty if this version cannot read it. */
    static <T> Optional<T> read(String json, Class<T> type) {
        return read(type, () -> MAPPER.readValue(json, type));
    }

    /** Returns a record; empty if this version cannot read it. */
    public static <T> Optional<T> read(byte[] json, Class<T> type) {
        return read(type, () -> MAPPER.readValue(json, type));
    }

    /** Returns a record; empty if this version cannot read it. */
    public static <T> Optional<T> read(JsonNode json, Class<T> type) {
        return read(type, () -> MAPPER.treeToValue(json, type));
    }

    private static <T> Optional<T> read(Class<T> type, Callable<T> reader) {
        try {
            return Optional.ofNullable(reader.call());
        } catch (Exception e) { // a record may refuse a component
            LOG.debugf(e, "A record of the database is not a %s of this version", type.getName());
            return Optional.empty();
        }
    }

    private static ObjectMapper mapper() {
        var mapper = JsonMapper.builder(JsonFactory.builder()
                        .streamReadConstraints(StreamReadConstraints.builder()
                                .maxNestingDepth(DEEPEST)
                                .maxStringLength(LONGEST_TEXT)
                                .build())
                        .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
                        .build())
                .visibility(PropertyAccessor.GETTER, Visibility.NONE)
                .visibility(PropertyAccessor.IS_GETTER, Visibility.NONE)
                .visibility(PropertyAccessor.FIELD, Visibility.ANY)
                .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
                .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
                .enable(DeserializationFeature.FAIL_ON_NUMBERS_FOR_ENUMS)
                .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
                .disable(SerializationFeature.WRITE_DURATIONS_AS_TIMESTAMPS)
                .annotationIntrospector(AnnotationIntrospector.pair(new NullableComponents(), new NoDetails()))
                .addModule(new Jdk8Module())
                .addModule(new JavaTimeModule())
                .addModule(new RecordModule())
                .build();
        mapper.setInjectableValues(new InjectableValues.Std().addValue(HostDetails.class, HostDetails.NONE));
        return mapper.setDefaultSetterInfo(NullableComponents.REFUSE_NULL);
    }
}
