package dev.genv.enforcer.genv;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.AnnotatedParameter;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Lets a component of a record be null in JSON only if it is declared so; an optional one is empty then. */
public final class NullableComponents extends JacksonAnnotationIntrospector {
    /** For values that are no components of a record. */
    public static final JsonSetter.Value REFUSE_NULL = JsonSetter.Value.forValueNulls(Nulls.FAIL, Nulls.FAIL);

    private static final Set<Class<?>> OPTIONALS = Set.of(Optional.class, OptionalLong.class, OptionalInt.class);
    private static final long serialVersionUID = 1L;
    private static final JsonSetter.Value ACCEPT_NULL = JsonSetter.Value.forValueNulls(Nulls.SET, Nulls.FAIL);

    @Override
    public JsonSetter.Value findSetterInfo(Annotated component) {
        if (component instanceof AnnotatedParameter parameter
                && parameter.getDeclaringClass().isRecord()) {
            var type = parameter
                    .getDeclaringClass()
                    .getRecordComponents()[parameter.getIndex()]
                    .getAnnotatedType();
            var isOptional = OPTIONALS.contains(parameter.getRawType());
            return isOptional || type.isAnnotationPresent(Nullable.class) ? ACCEPT_NULL : REFUSE_NULL;
        }
        return super.findSetterInfo(component);
    }
}
