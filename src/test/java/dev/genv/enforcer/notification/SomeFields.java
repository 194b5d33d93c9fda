package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import java.util.Map;

/** Some of what the API shows. */
class SomeFields {
    Object violation(ViolationRecord violation) {
        return Map.of("id", violation.id(), "message", violation.violation().message());
    }

    Object action(ActionNote action) {
        return Map.of("outcome", action.outcome().label());
    }
}
