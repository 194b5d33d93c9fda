package dev.genv.enforcer.genv;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.AnnotatedMember;
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
        if (component instanceof AnnotatedParameter parameter && isOfRecord(parameter)) {
            return mayBeNull(parameter) ? ACCEPT_NULL : REFUSE_NULL;
        }
        return super.findSetterInfo(component);
    }

    /** Only a component that may be null may be missing. */
    @Override
    public Boolean hasRequiredMarker(AnnotatedMember member) {
        if (member instanceof AnnotatedParameter parameter && isOfRecord(parameter)) {
            return !mayBeNull(parameter);
        }
        return super.hasRequiredMarker(member);
    }

    private static boolean isOfRecord(AnnotatedParameter parameter) {
        return parameter.getDeclaringClass().isRecord();
    }

    private static boolean mayBeNull(AnnotatedParameter component) {
        var type = component
                .getDeclaringClass()
                .getRecordComponents()[component.getIndex()]
                .getAnnotatedType();
        return OPTIONALS.contains(component.getRawType()) || type.isAnnotationPresent(Nullable.class);
    }
}
