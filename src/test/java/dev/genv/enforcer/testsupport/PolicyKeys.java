package dev.genv.enforcer.testsupport;

import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.genv.enforcer.policyfile.PolicyReader;
import dev.genv.enforcer.policyfile.PolicyReader.InvalidPolicyException;
import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.util.List;

/** The keys that a policy file can have, which the error of an unknown key names. */
public final class PolicyKeys {
    private PolicyKeys() {}

    /** Returns the keys at a place of the file, such as {@code max_devices}; those of the elements of a list at {@code exceptions}. */
    public static List<String> at(String place) {
        var unknown = "{unknown: 0}";
        var element = List.of("exceptions", "hours").contains(place) ? "[" + unknown + "]" : unknown;
        var yaml = place.isEmpty() ? unknown : "{%s: %s}".formatted(place, element);
        var thrown = catchThrowableOfType(
                InvalidPolicyException.class,
                () -> PolicyReader.read(yaml.getBytes(StandardCharsets.UTF_8), ZoneOffset.UTC));
        var keys = thrown.errors().getFirst().reason().replaceFirst(".*; these are: ", "");
        return List.of(keys.split(", ", -1));
    }
}
