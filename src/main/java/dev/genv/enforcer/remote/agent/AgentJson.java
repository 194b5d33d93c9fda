package dev.genv.enforcer.remote.agent;

import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.AnnotationIntrospector;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.AnnotatedClass;
import com.fasterxml.jackson.databind.introspect.NopAnnotationIntrospector;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.jsontype.NamedType;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.type.LogicalType;
import dev.genv.enforcer.genv.MemoryLimitedParser;
import dev.genv.enforcer.genv.NullableComponents;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.EnforcerFacts;
import dev.genv.enforcer.host.Machine.SwapResult;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.remote.agent.AgentOutput.LostAnswerException;
import java.io.IOException;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The JSON of requests and answers. Nothing in an answer is unknown, missing, of another type, or without a limit. */
final class AgentJson {
    /** The records are eight levels deep. */
    private static final int DEEPEST = 16;

    /** As long as a whole answer. */
    private static final int LONGEST_TEXT = 16 << 20;

    private static final int LONGEST_NAME = 64;
    private static final int LONGEST_NUMBER = 32;
    private static final int LONGEST_MESSAGE = 200;
    /** Heap limit of an answer without its texts. The observation of a process takes 3 KiB. */
    private static final long MAX_BYTES = 32L << 20;

    private static final ObjectMapper MAPPER = mapper();

    private AgentJson() {}

    static byte[] write(Object request) {
        try {
            return MAPPER.writeValueAsBytes(request);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a request cannot be written", e);
        }
    }

    /**
     * Decodes an answer.
     *
     * @throws LostAnswerException naming the invalid part
     */
    static <T> T read(Bytes json, Class<T> type) throws LostAnswerException {
        try (var parser = limitMemory(MAPPER.createParser(json.array()))) {
            var answer = MAPPER.readValue(parser, type);
            if (answer == null) {
                throw new LostAnswerException("it is null");
            }
            return answer;
        } catch (StreamConstraintsException e) {
            throw new LostAnswerException("it is too large: " + e.getOriginalMessage());
        } catch (JsonMappingException e) {
            throw new LostAnswerException(path(e) + reason(e));
        } catch (JsonProcessingException e) {
            throw new LostAnswerException("it is not JSON: " + reason(e));
        } catch (IOException _) {
            throw new LostAnswerException("it is not JSON");
        }
    }

    private static String path(JsonMappingException e) {
        var names = e.getPath().stream()
                .map(reference -> reference.getFieldName() == null
                        ? String.valueOf(reference.getIndex())
                        : reference.getFieldName())
                .collect(Collectors.joining("."));
        return names.isEmpty() ? "" : SafeText.escape(names) + ": ";
    }

    /** The first line of the library's message: it quotes the answer, which may contain anything. */
    private static String reason(JsonProcessingException e) {
        return SafeText.escape(e.getOriginalMessage().lines().findFirst().orElse(""), LONGEST_MESSAGE);
    }

    private static ObjectMapper mapper() {
        var mapper = JsonMapper.builder(JsonFactory.builder()
                        .streamReadConstraints(StreamReadConstraints.builder()
                                .maxNestingDepth(DEEPEST)
                                .maxNameLength(LONGEST_NAME)
                                .maxNumberLength(LONGEST_NUMBER)
                                .maxStringLength(LONGEST_TEXT)
                                .build())
                        .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
                        .enable(JsonWriteFeature.COMBINE_UNICODE_SURROGATES_IN_UTF8)
                        .build())
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
                .enable(DeserializationFeature.FAIL_ON_NUMBERS_FOR_ENUMS)
                .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
                .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
                .withCoercionConfig(
                        LogicalType.Textual,
                        texts -> texts.setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                                .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                                .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail))
                .annotationIntrospector(AnnotationIntrospector.pair(new NullableComponents(), new RecordsOfInterface()))
                .addModule(new FactsModule())
                .build();
        return mapper.setDefaultSetterInfo(NullableComponents.REFUSE_NULL);
    }

    /**
     * Estimates the heap of the records of an answer. Texts count as objects only, because all
     * their characters together are limited by the length of the answer.
     */
    private static MemoryLimitedParser limitMemory(JsonParser parser) {
        return new MemoryLimitedParser(parser, MAX_BYTES) {
            @Override
            protected long size(JsonToken token) {
                return switch (token) {
                    case START_OBJECT -> 64; // a record and its slot in a list
                    case START_ARRAY -> 80; // a list with its array
                    case VALUE_STRING -> 120; // a text with its array and its entry in a set
                    case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> 24; // a boxed number
                    default -> 0;
                };
            }
        };
    }

    /** The records of a sealed interface have their own names in JSON, with a small letter at the beginning. */
    private static final class RecordsOfInterface extends NopAnnotationIntrospector {
        private static final long serialVersionUID = 1L;

        @Override
        public @Nullable List<NamedType> findSubtypes(Annotated type) {
            var records = type.getRawType().getPermittedSubclasses();
            return records == null
                    ? null
                    : Stream.of(records).map(NamedType::new).toList();
        }

        @Override
        public String findTypeName(AnnotatedClass type) {
            var name = type.getRawType().getSimpleName();
            return Character.toLowerCase(name.charAt(0)) + name.substring(1);
        }
    }

    /** How the records of {@code facts} are written in JSON. Durations are numbers of seconds, at least 0. */
    private static final class FactsModule extends SimpleModule {
        private static final long serialVersionUID = 1L;
        private static final long LONGEST_SECONDS = 1_000_000_000;
        private static final double NANOS = 1e9;

        FactsModule() {
            super("facts");
            setMixInAnnotation(Reading.class, ReadingForm.class);
            setMixInAnnotation(StateFacts.Directory.class, KindForm.class);
            setMixInAnnotation(StateFacts.StateFile.class, KindForm.class);
            setMixInAnnotation(EnforcerFacts.Other.class, KindForm.class);
            setMixInAnnotation(SwapResult.class, KindForm.class);
            setMixInAnnotation(Bytes.class, BytesForm.class);
            setMixInAnnotation(SubordinateUids.class, RangesForm.class);
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
                        return (Duration)
                                context.handleWeirdNumberValue(Duration.class, seconds, "not a possible time");
                    }
                    return Duration.ofNanos(Math.round(seconds * NANOS));
                }
            });
            addSerializer(Duration.class, new JsonSerializer<>() {
                @Override
                public void serialize(Duration time, JsonGenerator out, SerializerProvider provider)
                        throws IOException {
                    out.writeNumber(BigDecimal.valueOf(time.toMillis(), 3));
                }
            });
        }

        @JsonTypeInfo(use = JsonTypeInfo.Id.DEDUCTION)
        private interface ReadingForm {}

        @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, include = JsonTypeInfo.As.WRAPPER_OBJECT)
        private interface KindForm {}

        /** Base64. */
        private interface BytesForm {
            @JsonValue
            byte[] array();
        }

        private interface RangesForm {
            @JsonValue
            List<SubordinateUids.Range> ranges();
        }
    }
}
