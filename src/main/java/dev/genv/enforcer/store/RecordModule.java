package dev.genv.enforcer.store;

import com.fasterxml.jackson.annotation.JacksonInject;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.introspect.AnnotatedMember;
import com.fasterxml.jackson.databind.introspect.NopAnnotationIntrospector;
import com.fasterxml.jackson.databind.jsontype.NamedType;
import com.fasterxml.jackson.databind.module.SimpleModule;
import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Rules;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** How records of several forms are written, and that a rule is written by its name. */
final class RecordModule extends SimpleModule {
    private static final long serialVersionUID = 1L;

    RecordModule() {
        super("store");
        for (var type : List.of(Membership.class, Action.class, ActionNote.Target.class)) {
            setMixInAnnotation(type, Form.class);
        }
        registerSubtypes(
                new NamedType(Membership.InEnvironment.class, "in_environment"),
                new NamedType(Membership.Outside.class, "outside"),
                new NamedType(Membership.Unknown.class, "unknown"),
                new NamedType(Action.Terminate.class, "terminate"),
                new NamedType(Action.Detach.class, "detach"),
                new NamedType(ActionNote.TargetProcess.class, "process"),
                new NamedType(ActionNote.TargetAttachment.class, "attachment"));
        setMixInAnnotation(RuleDefinition.class, RuleForm.class);
        setMixInAnnotation(Snapshot.class, WithoutDetails.class);
        setMixInAnnotation(SubordinateUids.class, RangesForm.class);
        addDeserializer(RuleDefinition.class, new RuleReader());
    }

    @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "form")
    private interface Form {}

    /** The database does not store what was observed of the host itself. */
    @JsonIgnoreProperties("details")
    private interface WithoutDetails {}

    /** Has a snapshot of the database no details. */
    static final class NoDetails extends NopAnnotationIntrospector {
        private static final long serialVersionUID = 1L;

        @Override
        public JacksonInject.@Nullable Value findInjectableValue(AnnotatedMember member) {
            return member.getRawType().equals(HostDetails.class)
                    ? JacksonInject.Value.forId(HostDetails.class.getName())
                    : null;
        }
    }

    private abstract static class RangesForm {
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        RangesForm(List<SubordinateUids.Range> ranges) {
            assert ranges != null; // only the annotations count
        }

        @JsonValue
        abstract List<SubordinateUids.Range> ranges();
    }

    private interface RuleForm {
        @JsonValue
        String name();
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
            var rule = Rules.find(name);
            return rule.isPresent()
                    ? rule.get()
                    : (RuleDefinition) context.handleWeirdStringValue(RuleDefinition.class, name, "no such rule");
        }
    }
}
