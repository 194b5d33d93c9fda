package dev.genv.enforcer.store;

import com.fasterxml.jackson.annotation.JsonAlias;
import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.jsontype.NamedType;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import dev.genv.enforcer.genv.NullableComponents;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Rules;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;
import org.jboss.logging.Logger;

/** The JSON of the database. A record of another version is read if it has every component that this version needs. */
final class RecordJson {
    private static final Logger LOG = Logger.getLogger(RecordJson.class);
    private static final int DEEPEST = 64;
    private static final int LONGEST_TEXT = 16 << 20;
    private static final ObjectMapper MAPPER = mapper();
    private static final ObjectMapper BOUNDED = MAPPER.copy().registerModule(boundedTexts());

    private RecordJson() {}

    static String text(Object value) {
        return text(MAPPER, value);
    }

    /** Returns a record whose texts are cut, because users choose their length. */
    static String bounded(Object value) {
        return text(BOUNDED, value);
    }

    private static String text(ObjectMapper mapper, Object value) {
        try {
            return mapper.writeValueAsString(value);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static SimpleModule boundedTexts() {
        return new SimpleModule("bounded").addSerializer(String.class, new StdSerializer<>(String.class) {
            private static final long serialVersionUID = 1L;

            @Override
            public void serialize(String text, JsonGenerator json, SerializerProvider provider) throws IOException {
                json.writeString(SafeText.cut(text));
            }
        });
    }

    /** Returns a record; empty if this version cannot read it. */
    static <T> Optional<T> read(String json, Class<T> type) {
        try {
            return Optional.ofNullable(MAPPER.readValue(json, type));
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
                .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
                .enable(DeserializationFeature.FAIL_ON_NUMBERS_FOR_ENUMS)
                .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
                .disable(SerializationFeature.WRITE_DURATIONS_AS_TIMESTAMPS)
                .annotationIntrospector(new NullableComponents())
                .addModule(new Jdk8Module())
                .addModule(new JavaTimeModule())
                .addModule(module())
                .build();
        return mapper.setDefaultSetterInfo(NullableComponents.REFUSE_NULL);
    }

    /** How records of several forms are written, and that a rule is written by its name. */
    private static SimpleModule module() {
        var module = new SimpleModule("store");
        for (var type : List.of(Membership.class, Action.class)) {
            module.setMixInAnnotation(type, Form.class);
        }
        module.registerSubtypes(
                new NamedType(Membership.InEnvironment.class, "in_environment"),
                new NamedType(Membership.Outside.class, "outside"),
                new NamedType(Membership.Unknown.class, "unknown"),
                new NamedType(Action.Terminate.class, "terminate"),
                new NamedType(Action.Detach.class, "detach"));
        module.setMixInAnnotation(RuleDefinition.class, RuleForm.class);
        module.addDeserializer(RuleDefinition.class, new RuleReader());
        module.setMixInAnnotation(MembershipSource.class, SourceForm.class);
        return module;
    }

    @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "form")
    private interface Form {}

    private interface RuleForm {
        @JsonValue
        String name();
    }

    /** Earlier versions inferred memberships from other processes than ancestors too. */
    private enum SourceForm {
        @JsonAlias({"LISTED", "SESSION", "CGROUP"})
        ANCESTOR
    }

    /** Fails for a rule that this version does not have. */
    private static final class RuleReader extends StdDeserializer<RuleDefinition> {
        private static final long serialVersionUID = 1L;

        RuleReader() {
            super(RuleDefinition.class);
        }

        @Override
        public RuleDefinition deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            var name = parser.getText();
            var rule = Rules.findStored(name);
            return rule.isPresent()
                    ? rule.get()
                    : (RuleDefinition) context.handleWeirdStringValue(RuleDefinition.class, name, "no such rule");
        }
    }
}
