package dev.genv.enforcer.api.openapi;

import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.definition.RuleSetting;
import dev.genv.enforcer.policy.definition.RuleSetting.Kind;
import dev.genv.enforcer.policy.rule.Rules;
import java.util.stream.Stream;
import org.eclipse.microprofile.openapi.OASFactory;
import org.eclipse.microprofile.openapi.models.media.Schema;
import org.eclipse.microprofile.openapi.models.media.Schema.SchemaType;

/** The policy of a plan request, whose fields and texts are those of the rules' settings. */
final class PolicySchema {
    static final String NAME = "Policy";

    private PolicySchema() {}

    static Schema create() {
        var schema = OASFactory.createSchema().addType(SchemaType.OBJECT);
        Rules.definitions().stream()
                .flatMap(PolicySchema::fields)
                .forEach(setting -> schema.addProperty(setting.name().replace('-', '_'), field(setting)));
        return schema;
    }

    /** A rule with a limit is on if it has one. */
    private static Stream<RuleSetting> fields(RuleDefinition rule) {
        return rule.settings().stream().filter(setting -> setting.kind() != Kind.MODE || !rule.hasLimit());
    }

    private static Schema field(RuleSetting setting) {
        var field = OASFactory.createSchema().description(setting.meaning().strip());
        return switch (setting.kind()) {
            case MODE, REPORT_MODE -> field.addType(SchemaType.BOOLEAN);
            case LIMIT -> field.addType(SchemaType.INTEGER).addType(SchemaType.NULL);
            case LIMITS_OF_USERS ->
                field.addType(SchemaType.OBJECT)
                        .additionalPropertiesSchema(OASFactory.createSchema().addType(SchemaType.INTEGER));
        };
    }
}
