package dev.genv.enforcer.enforcement.history.state;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.history.time.ObservedTime;
import dev.genv.enforcer.policy.definition.StateChangeKind;
import dev.genv.enforcer.policy.plan.Violation;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** How long each part of the state of a host has been observed. */
final class ObservedParts {
    private final Ticker ticker;
    private final ObservedTime environments;
    private final ObservedTime attachments;
    private final Map<Integer, ObservedTime> devices = new HashMap<>();

    /** What is saved of the parts. */
    public record Saved(
            ObservedTime.Saved environments,
            ObservedTime.Saved attachments,
            Map<Integer, ObservedTime.Saved> devices) {}

    ObservedParts(Ticker ticker) {
        this(ticker, new ObservedTime(ticker), new ObservedTime(ticker));
    }

    private ObservedParts(Ticker ticker, ObservedTime environments, ObservedTime attachments) {
        this.ticker = ticker;
        this.environments = environments;
        this.attachments = attachments;
    }

    Saved save() {
        var saved = new HashMap<Integer, ObservedTime.Saved>();
        devices.forEach((device, observed) -> saved.put(device, observed.save()));
        return new Saved(environments.save(), attachments.save(), saved);
    }

    /**
     * Restores saved parts.
     *
     * @param observed the mark of the last cycle
     */
    static ObservedParts restore(Saved saved, long observed, Ticker ticker) {
        var restored = new ObservedParts(
                ticker,
                ObservedTime.restore(saved.environments, observed, ticker),
                ObservedTime.restore(saved.attachments, observed, ticker));
        saved.devices.forEach(
                (device, time) -> restored.devices.put(device, ObservedTime.restore(time, observed, ticker)));
        return restored;
    }

    ObservedTime attachments() {
        return attachments;
    }

    /** Records that nothing could be read. */
    void interrupted() {
        environments.interrupted();
        attachments.interrupted();
        devices.values().forEach(ObservedTime::interrupted);
    }

    /**
     * Records which parts were read.
     *
     * @param ticks when, in clock ticks since boot
     * @param hasAttachments whether the attachments were read
     * @param described the devices whose attachments were read
     */
    void observed(long ticks, boolean hasAttachments, Set<Integer> described) {
        environments.observed(ticks);
        if (hasAttachments) {
            attachments.observed(ticks);
        } else {
            attachments.interrupted();
        }
        for (var device : described) {
            devices.computeIfAbsent(device, _ -> new ObservedTime(ticker)).observed(ticks);
        }
        devices.forEach((device, observed) -> {
            if (!described.contains(device)) {
                observed.interrupted();
            }
        });
    }

    /** Returns the parts that such a change concerns. */
    Stream<ObservedTime> of(StateChangeKind kind, Violation cause) {
        return switch (kind) {
            case PID_REMOVED, ENVIRONMENT_ENDED, OWNER_FORGED -> Stream.of(environments);
            case CAPACITY_REDUCED -> Stream.of(attachments);
            case ATTACHMENT_REMOVED ->
                Stream.concat(
                        Stream.of(attachments),
                        cause.devices().stream().map(device -> devices.getOrDefault(device, new ObservedTime(ticker))));
            // The rules declare them together with a change that covers the same time.
            case ENVIRONMENT_ADDED, OWNER_CHANGED, QUOTA_INCREASED -> Stream.empty();
        };
    }
}
