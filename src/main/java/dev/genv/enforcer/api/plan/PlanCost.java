package dev.genv.enforcer.api.plan;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Snapshot;

/**
 * Estimates the memory for computing a plan from the bytes of a JSON text: outside of strings, each bracket, colon and comma stands
 * for the objects that a parser creates. If the text is not JSON, the parser stops earlier.
 */
final class PlanCost {
    // Bytes of heap with compressed pointers: the nodes of the tree, or the objects of the plan if these are larger.
    // Every tested kind of text needs less.
    private static final int OBJECT = 220;
    private static final int ARRAY = 220;
    private static final int FIELD = 200;
    private static final int ELEMENT = 110;
    /** A byte of a string: two bytes for each character, and the buffer of the parser. */
    private static final int TEXT = 8;
    /** A process, a device of a process, an environment or an attachment of the last cycle. */
    private static final int ENTRY = 1500;

    private boolean inText;
    private boolean escaped;
    private long bytes;

    /** Estimates all entries of a fleet that was already observed. */
    static long of(Fleet fleet) {
        return fleet.snapshots().stream().mapToLong(PlanCost::entries).sum() * ENTRY;
    }

    private static long entries(Snapshot snapshot) {
        var usages = snapshot.processes().stream()
                .mapToLong(process -> process.usage().size())
                .sum();
        var attachments = snapshot.devices().stream()
                .mapToLong(device -> device.attachments().size())
                .sum();
        return snapshot.processes().size()
                + usages
                + snapshot.environments().size()
                + snapshot.devices().size()
                + attachments;
    }

    /** Adds the next piece of the text. */
    void add(byte[] piece, int length) {
        for (var i = 0; i < length; i++) {
            bytes += inText ? textCost(piece[i]) : structureCost(piece[i]);
        }
    }

    long bytes() {
        return bytes;
    }

    private int textCost(byte next) {
        if (escaped) {
            escaped = false;
        } else if (next == '\\') {
            escaped = true;
        } else if (next == '"') {
            inText = false;
        }
        return TEXT;
    }

    private int structureCost(byte next) {
        return switch (next) {
            case '{' -> OBJECT;
            case '[' -> ARRAY;
            case ':' -> FIELD;
            case ',' -> ELEMENT;
            case '"' -> {
                inText = true;
                yield TEXT;
            }
            default -> 1;
        };
    }
}
