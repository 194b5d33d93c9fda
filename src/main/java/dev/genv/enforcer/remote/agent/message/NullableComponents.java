package dev.genv.enforcer.remote.agent.message;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.AnnotatedParameter;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import org.jspecify.annotations.Nullable;

/** Lets a component of a record be null in JSON only if it is declared so. */
final class NullableComponents extends JacksonAnnotationIntrospector {
    static final JsonSetter.Value REFUSE_NULL = JsonSetter.Value.forValueNulls(Nulls.FAIL, Nulls.FAIL);

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
            return type.isAnnotationPresent(Nullable.class) ? ACCEPT_NULL : REFUSE_NULL;
        }
        return super.findSetterInfo(component);
    }
}
