package dev.genv.enforcer.enforcement.violation;

import dev.genv.enforcer.enforcement.saved.SavedCycle;
import dev.genv.enforcer.enforcement.violation.ViolationRecord.Recency;
import dev.genv.enforcer.model.GpuProcess;
import java.time.Instant;
import java.util.List;
import java.util.Objects;

/**
 * An active violation in a form that stays the same while every cycle finds it.
 *
 * @param entry the violation. If the last cycle found it, its number of cycles is relative to the one of the registry, and its last
 *     time is its first one. What follows next is not included: the next cycle finds it out again
 * @param isPresent whether the last cycle found it
 */
public record SavedViolation(ViolationRecord entry, boolean isPresent) {
    /** The id of a violation. */
    public record Key(String id) {}

    /** Saves a violation after the registry recorded this number of cycles. */
    static SavedViolation of(ViolationRecord entry, boolean isPresent, int cycles) {
        return new SavedViolation(
                isPresent
                        ? with(entry, entry.firstSeen(), entry.cycles() - cycles, Instant.EPOCH)
                        : with(
                                entry,
                                entry.lastSeen(),
                                entry.cycles(),
                                entry.recency().latest()),
                isPresent);
    }

    /** Returns the violation as it was after this cycle. */
    ViolationRecord restore(SavedCycle last) {
        var at = last.at().isBefore(entry.firstSeen()) ? entry.firstSeen() : last.at();
        return isPresent ? with(entry, at, entry.cycles() + last.cycles(), last.latest()) : entry;
    }

    /** Whether another one differs at most in the amounts of memory, which change in every cycle. */
    boolean isEquivalent(SavedViolation other) {
        var violation = entry.violation();
        var others = other.entry.violation();
        return isPresent == other.isPresent
                && entry.cycles() == other.entry.cycles()
                && entry.lastSeen().equals(other.entry.lastSeen())
                && entry.mode() == other.entry.mode()
                && entry.actions().equals(other.entry.actions())
                && violation.key().equals(others.key())
                && violation.hosts().equals(others.hosts())
                && Objects.equals(violation.user(), others.user())
                && Objects.equals(violation.environment(), others.environment())
                && violation.devices().equals(others.devices())
                && violation.processes().stream()
                        .map(GpuProcess::id)
                        .toList()
                        .equals(others.processes().stream().map(GpuProcess::id).toList());
    }

    private static ViolationRecord with(ViolationRecord entry, Instant lastSeen, int cycles, Instant latest) {
        return new ViolationRecord(
                entry.id(),
                entry.violation(),
                entry.mode(),
                entry.active(),
                entry.firstSeen(),
                lastSeen,
                cycles,
                entry.actions(),
                new Recency(entry.recency().number(), latest),
                List.of());
    }
}
