package dev.genv.enforcer.api.openapi;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonInclude.Include;
import com.fasterxml.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Rules;
import io.quarkus.smallrye.openapi.OpenApiFilter;
import io.quarkus.smallrye.openapi.OpenApiFilter.RunStage;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.microprofile.openapi.OASFactory;
import org.eclipse.microprofile.openapi.OASFilter;
import org.eclipse.microprofile.openapi.models.OpenAPI;
import org.eclipse.microprofile.openapi.models.Operation;
import org.eclipse.microprofile.openapi.models.media.Schema;
import org.eclipse.microprofile.openapi.models.media.Schema.SchemaType;
import org.eclipse.microprofile.openapi.models.parameters.Parameter;
import org.eclipse.microprofile.openapi.models.parameters.Parameter.In;
import org.jboss.jandex.ClassInfo;
import org.jboss.jandex.DotName;
import org.jboss.jandex.FieldInfo;
import org.jboss.jandex.IndexView;
import org.jboss.jandex.Type;
import org.jspecify.annotations.Nullable;

/**
 * Adds to the description of the API what the Java types say and what repeats: which fields can be null and which are always present,
 * the names of the rules, and the errors of every operation. It runs when the service is built.
 */
@OpenApiFilter(stages = RunStage.BUILD)
public class DescriptionFilter implements OASFilter {
    private static final DotName NULLABLE = DotName.createSimple(Nullable.class);
    private static final DotName INCLUDE = DotName.createSimple(JsonInclude.class);
    private static final String ERROR = "Error";

    private final IndexView index;

    /** Creates a filter that knows the classes of the service. */
    public DescriptionFilter(IndexView index) {
        this.index = index;
    }

    @Override
    public void filterOpenAPI(OpenAPI api) {
        var schemas = api.getComponents().getSchemas();
        get(schemas, "RuleName")
                .setEnumeration(
                        Rules.definitions().stream().map(RuleDefinition::name).collect(Collectors.toList()));
        for (var type : index.getKnownClasses()) {
            var schema = type.isRecord() ? schemas.get(type.simpleName()) : null;
            if (schema != null && schema.getProperties() != null) {
                addFields(schema, type);
            }
        }
        get(schemas, "LocalDateTime").setFormat("date-time-local"); // a date-time has an offset
        var errors = api.getComponents().getResponses().keySet();
        api.getPaths().getPathItems().values().stream()
                .flatMap(path -> path.getOperations().values().stream())
                .forEach(operation -> addErrors(operation, errors));
    }

    private static Schema get(Map<String, Schema> schemas, String name) {
        return Objects.requireNonNull(schemas.get(name), name);
    }

    private static void addFields(Schema schema, ClassInfo type) {
        var fields = type.fields().stream()
                .filter(field -> !Modifier.isStatic(field.flags()))
                .toList();
        var names = fields.stream().map(DescriptionFilter::name).collect(Collectors.toUnmodifiableSet());
        if (names.equals(schema.getProperties().keySet())) { // otherwise it is another record with this simple name
            var required = new LinkedHashSet<String>();
            fields.forEach(field -> addField(schema, required, field, inclusion(type, field)));
            schema.setRequired(List.copyOf(required));
        }
    }

    private static String name(FieldInfo field) {
        return SnakeCaseStrategy.INSTANCE.translate(field.name());
    }

    private static void addField(Schema schema, Set<String> required, FieldInfo field, Include include) {
        var described = get(schema.getProperties(), name(field));
        var isNullable = field.type().hasAnnotation(NULLABLE);
        if (include == Include.ALWAYS || (include == Include.NON_NULL && !isNullable)) {
            required.add(name(field));
        }
        if (include == Include.ALWAYS && isNullable) {
            schema.addProperty(name(field), orNull(described));
        }
        if (field.type().kind() == Type.Kind.PARAMETERIZED_TYPE
                && field.type().asParameterizedType().arguments().getFirst().hasAnnotation(NULLABLE)) {
            described.setItems(orNull(described.getItems()));
        }
    }

    private static Include inclusion(ClassInfo type, FieldInfo field) {
        return Stream.of(field.declaredAnnotation(INCLUDE), type.declaredAnnotation(INCLUDE))
                .filter(Objects::nonNull)
                .map(annotation -> annotation.value() == null
                        ? Include.ALWAYS
                        : Include.valueOf(annotation.value().asEnum()))
                .findFirst()
                .orElse(Include.ALWAYS);
    }

    /** Quarkus may filter a description twice. */
    private static Schema orNull(Schema schema) {
        var types = schema.getType();
        if (schema.getAnyOf() != null || (types != null && types.contains(SchemaType.NULL))) {
            return schema;
        }
        if (schema.getRef() != null) {
            return OASFactory.createSchema()
                    .description(schema.getDescription())
                    .addAnyOf(OASFactory.createSchema().ref(schema.getRef()))
                    .addAnyOf(OASFactory.createSchema().addType(SchemaType.NULL));
        }
        if (schema.getEnumeration() != null) {
            var values = new ArrayList<>(schema.getEnumeration());
            values.add(null);
            schema.setEnumeration(values);
        }
        return schema.addType(SchemaType.NULL);
    }

    /** Adds every error but those for which an operation lacks what they are about: a name in the path, or a body. */
    private static void addErrors(Operation operation, Set<String> errors) {
        var parameters = Objects.requireNonNullElse(operation.getParameters(), List.<Parameter>of());
        for (var error : errors) {
            var isPossible = switch (error) {
                case "Error404" -> parameters.stream().anyMatch(parameter -> parameter.getIn() == In.PATH);
                case "Error415" -> operation.getRequestBody() != null;
                default -> true;
            };
            if (isPossible) {
                operation
                        .getResponses()
                        .addAPIResponse(
                                error.substring(ERROR.length()),
                                OASFactory.createAPIResponse().ref(error));
            }
        }
    }
}
