package dev.genv.enforcer.journal;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.module.SimpleModule;
import dev.genv.enforcer.enforcement.action.Termination;
import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Rules;
import java.io.IOException;

/** How records of several forms are written, and that a rule is written by its name. */
final class RecordModule extends SimpleModule {
    private static final long serialVersionUID = 1L;

    RecordModule() {
        super("journal");
        setMixInAnnotation(Membership.class, MembershipForm.class);
        setMixInAnnotation(Action.class, ActionForm.class);
        setMixInAnnotation(ActionNote.Target.class, TargetForm.class);
        setMixInAnnotation(Termination.Pending.class, TerminationForm.class);
        setMixInAnnotation(Termination.Breaking.class, TerminationForm.class);
        setMixInAnnotation(RuleDefinition.class, RuleForm.class);
        addDeserializer(RuleDefinition.class, new RuleReader());
    }

    @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "form")
    @JsonSubTypes({
        @JsonSubTypes.Type(name = "in_environment", value = Membership.InEnvironment.class),
        @JsonSubTypes.Type(name = "outside", value = Membership.Outside.class),
        @JsonSubTypes.Type(name = "unknown", value = Membership.Unknown.class)
    })
    private interface MembershipForm {}

    @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "form")
    @JsonSubTypes({
        @JsonSubTypes.Type(name = "terminate", value = Action.Terminate.class),
        @JsonSubTypes.Type(name = "detach", value = Action.Detach.class)
    })
    private interface ActionForm {}

    @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "form")
    @JsonSubTypes({
        @JsonSubTypes.Type(name = "process", value = ActionNote.TargetProcess.class),
        @JsonSubTypes.Type(name = "attachment", value = ActionNote.TargetAttachment.class)
    })
    private interface TargetForm {}

    @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "form")
    @JsonSubTypes({
        @JsonSubTypes.Type(name = "asked", value = Termination.Asked.class),
        @JsonSubTypes.Type(name = "perhaps_asked", value = Termination.PerhapsAsked.class),
        @JsonSubTypes.Type(name = "overdue", value = Termination.Overdue.class),
        @JsonSubTypes.Type(name = "killed", value = Termination.Killed.class),
        @JsonSubTypes.Type(name = "unkillable", value = Termination.Unkillable.class),
        @JsonSubTypes.Type(name = "compliant", value = Termination.Compliant.class)
    })
    private interface TerminationForm {}

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
