package dev.genv.enforcer.policy;

import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * How many devices a user may hold, over all machines.
 *
 * @param general the limit of everybody else; null for none
 * @param perUser limits of single users, which also hold where there is no general one
 */
public record DeviceLimits(@Nullable Integer general, Map<String, Integer> perUser) {
    public static final DeviceLimits NONE = new DeviceLimits(null, Map.of());

    public DeviceLimits {
        perUser = Map.copyOf(perUser);
        if ((general != null && general < 0) || perUser.values().stream().anyMatch(limit -> limit < 0)) {
            throw new IllegalArgumentException("a limit of devices cannot be negative");
        }
    }

    public OptionalInt of(String user) {
        var limit = perUser.getOrDefault(user, general);
        return limit == null ? OptionalInt.empty() : OptionalInt.of(limit);
    }
}
