package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.Ternary;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What genv's state of one host says now, and until when it did not say so. Every local user can edit the state, so no rule uses a
 * claim against a process that is older than the claim.
 *
 * <p>The state claims that an environment is alive, that a uid owns it, and that a user holds a device through it. Its size bounds the
 * number of claims.
 *
 * @param first when the environments were first read, in clock ticks since boot; null before that
 * @param absent for each environment and each owner, when the state last did not claim it, in clock ticks since boot; {@link #NONE} if it
 *     claimed it in the first reading
 * @param held for each held device, when the state began to claim it, by the mark of the clock that counts towards an action, so that
 *     hosts compare; {@link #NONE} if it claimed it in the first reading
 * @param hasAttachments whether the attachments were ever read
 */
public record Claims(@Nullable Long first, Map<String, Long> absent, Map<String, Long> held, boolean hasAttachments) {
    /** The claim was never absent, as far as the service knows. */
    static final long NONE = -1;

    /** Nothing was read. */
    static final Claims EMPTY = new Claims(null, Map.of(), Map.of(), false);

    /**
     * Returns the claims after another observation. A part that was not read changes nothing.
     *
     * @param previous the previous reading of the environments, in clock ticks since boot
     * @param mark when this one was recorded, by the mark of the clock that counts towards an action
     */
    Claims next(Snapshot snapshot, @Nullable Long previous, long mark) {
        if (!snapshot.has(SnapshotPart.ENVIRONMENTS)) {
            return this;
        }
        var claimed = new HashSet<String>();
        for (var environment : snapshot.environments()) {
            claimed.add(alive(environment.eid()));
            claimed.add(owner(environment));
        }
        var hasBoth = snapshot.has(SnapshotPart.ATTACHMENTS);
        return new Claims(
                Objects.requireNonNullElse(first, snapshot.details().ticks()),
                continued(absent, claimed, Objects.requireNonNullElse(previous, NONE)),
                hasBoth ? continued(held, holdings(snapshot), hasAttachments ? mark : NONE) : held,
                hasAttachments || hasBoth);
    }

    /** Whether a process is older than the claim that its environment is alive. */
    boolean shieldsFromEnvironment(GpuProcess process, Environment environment) {
        return shields(process, environment, alive(environment.eid()));
    }

    /** Whether a process is older than the claim that this uid owns its environment. */
    boolean shieldsFromOwner(GpuProcess process, Environment environment) {
        return shields(process, environment, owner(environment));
    }

    /** Returns the attachments that users began to hold after the first reading. */
    Map<Appearances.Key, Long> appearances(Snapshot snapshot) {
        var appearances = new HashMap<Appearances.Key, Long>();
        forEachHolding(snapshot, (environment, device, user) -> {
            var since = held.getOrDefault(held(environment, device, user), NONE);
            if (since != NONE) {
                appearances.put(new Appearances.Key(snapshot.host(), environment.eid(), device), since);
            }
        });
        return appearances;
    }

    /** A claim of the first reading may be younger than what it is used against, unless that is certainly its user's. */
    private boolean shields(GpuProcess process, Environment environment, String claim) {
        var absentAt = absent.getOrDefault(claim, NONE);
        var start = process.id().startTime();
        return absentAt == NONE
                ? environment.isStranger(process) != Ternary.NO && first != null && start < first
                : start < absentAt;
    }

    private static Set<String> holdings(Snapshot snapshot) {
        var held = new HashSet<String>();
        forEachHolding(snapshot, (environment, device, user) -> held.add(held(environment, device, user)));
        return held;
    }

    /** Passes on each attachment of an undisputed environment whose user is known. */
    static void forEachHolding(Snapshot snapshot, HoldingConsumer consumer) {
        var environments = snapshot.environmentsById();
        for (var device : snapshot.devices()) {
            for (var attachment : device.attachments()) {
                var environment = environments.get(attachment.eid());
                if (environment != null && !environment.ownership().isDisputed()) {
                    environment.user().ifPresent(user -> consumer.accept(environment, device.index(), user));
                }
            }
        }
    }

    interface HoldingConsumer {
        void accept(Environment environment, int device, String user);
    }

    private static Map<String, Long> continued(Map<String, Long> known, Set<String> claimed, long since) {
        var next = new HashMap<String, Long>();
        claimed.forEach(claim -> next.put(claim, known.getOrDefault(claim, since)));
        return Map.copyOf(next);
    }

    private static String alive(String eid) {
        return "alive " + SafeText.bounded(eid);
    }

    private static String owner(Environment environment) {
        return "owner " + environment.uid() + " " + SafeText.bounded(environment.eid());
    }

    static String held(Environment environment, int device, String user) {
        var eid = SafeText.bounded(environment.eid());
        return "held " + device + " " + eid.length() + " " + eid + " " + SafeText.bounded(user);
    }
}
