package dev.genv.enforcer.notification.webhook;

import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import dev.genv.enforcer.enforcement.violation.ViolationRecord.ActionNote;
import java.util.Map;

/** Some of what the API shows. */
class SomeFields implements WebhookBodies.View {
    @Override
    public Object violation(ViolationRecord violation) {
        return Map.of("id", violation.id(), "message", violation.violation().message());
    }

    @Override
    public Object action(ActionNote action) {
        return Map.of("outcome", action.outcome().label());
    }
}
