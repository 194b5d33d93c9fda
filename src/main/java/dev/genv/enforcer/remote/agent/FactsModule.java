package dev.genv.enforcer.remote.agent;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.module.SimpleModule;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.EnforcerFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.StateFacts;
import java.io.IOException;
import java.math.BigDecimal;
import java.time.Duration;

/** How the records of {@code facts} are written in JSON. Durations are numbers of seconds, at least 0. */
final class FactsModule extends SimpleModule {
    private static final long serialVersionUID = 1L;
    private static final long LONGEST_SECONDS = 1_000_000_000;
    private static final double NANOS = 1e9;

    FactsModule() {
        super("facts");
        setMixInAnnotation(Reading.class, ReadingForm.class);
        setMixInAnnotation(StateFacts.Directory.class, DirectoryForm.class);
        setMixInAnnotation(StateFacts.StateFile.class, StateFileForm.class);
        setMixInAnnotation(EnforcerFacts.Other.class, OtherForm.class);
        setMixInAnnotation(Bytes.class, BytesForm.class);
        addDeserializer(Bytes.class, new JsonDeserializer<>() {
            @Override
            public Bytes deserialize(JsonParser parser, DeserializationContext context) throws IOException {
                return parser.hasToken(JsonToken.VALUE_STRING)
                        ? Bytes.of(parser.getBinaryValue())
                        : (Bytes) context.handleUnexpectedToken(Bytes.class, parser);
            }
        });
        addDeserializer(Duration.class, new JsonDeserializer<>() {
            @Override
            public Duration deserialize(JsonParser parser, DeserializationContext context) throws IOException {
                if (!parser.currentToken().isNumeric()) {
                    return (Duration) context.handleUnexpectedToken(Duration.class, parser);
                }
                var seconds = parser.getDoubleValue();
                if (!(seconds >= 0 && seconds <= LONGEST_SECONDS)) {
                    return (Duration) context.handleWeirdNumberValue(Duration.class, seconds, "not a possible time");
                }
                return Duration.ofNanos(Math.round(seconds * NANOS));
            }
        });
        addSerializer(Duration.class, new JsonSerializer<>() {
            @Override
            public void serialize(Duration time, JsonGenerator out, SerializerProvider provider) throws IOException {
                out.writeNumber(BigDecimal.valueOf(time.toMillis(), 3));
            }
        });
    }

    @JsonTypeInfo(use = JsonTypeInfo.Id.DEDUCTION)
    @JsonSubTypes({@JsonSubTypes.Type(Reading.Value.class), @JsonSubTypes.Type(Reading.Failed.class)})
    private interface ReadingForm {}

    @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, include = JsonTypeInfo.As.WRAPPER_OBJECT)
    @JsonSubTypes({
        @JsonSubTypes.Type(name = "present", value = StateFacts.Directory.Present.class),
        @JsonSubTypes.Type(name = "absent", value = StateFacts.Directory.Absent.class),
        @JsonSubTypes.Type(name = "userMount", value = StateFacts.Directory.UserMount.class),
        @JsonSubTypes.Type(name = "unreadable", value = StateFacts.Directory.Unreadable.class)
    })
    private interface DirectoryForm {}

    @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, include = JsonTypeInfo.As.WRAPPER_OBJECT)
    @JsonSubTypes({
        @JsonSubTypes.Type(name = "present", value = StateFacts.StateFile.Present.class),
        @JsonSubTypes.Type(name = "absent", value = StateFacts.StateFile.Absent.class),
        @JsonSubTypes.Type(name = "unreadable", value = StateFacts.StateFile.Unreadable.class)
    })
    private interface StateFileForm {}

    @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, include = JsonTypeInfo.As.WRAPPER_OBJECT)
    @JsonSubTypes({
        @JsonSubTypes.Type(name = "onMachine", value = EnforcerFacts.Other.OnMachine.class),
        @JsonSubTypes.Type(name = "leased", value = EnforcerFacts.Other.Leased.class)
    })
    private interface OtherForm {}

    /** Base64. */
    private interface BytesForm {
        @JsonValue
        byte[] array();
    }
}
