package dev.genv.enforcer.api;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Snapshot;

/**
 * Estimates how much memory it takes to make a plan of a JSON text, from its bytes alone: outside of strings each bracket,
 * colon and comma stands for the objects that a parser would make. Where the text is not JSON, a parser ends sooner.
 */
final class PlanCost {
    // Bytes of heap with compressed pointers: the nodes of the tree, or what the plan makes of them if that is more.
    // Every kind of text that was tested takes less.
    private static final int OBJECT = 220;
    private static final int ARRAY = 220;
    private static final int FIELD = 200;
    private static final int ELEMENT = 110;
    /** Of a string, whose characters may take two bytes each, with the buffer in which it is collected. */
    private static final int TEXT = 8;
    /** Of a process, a device that it uses, an environment or an attachment of the last cycle. */
    private static final int ENTRY = 1500;

    private boolean inText;
    private boolean escaped;
    private long bytes;

    /** What all entries of a fleet that was read before would take. */
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

    /** Goes on with the next piece of the text. */
    void add(byte[] piece, int length) {
        for (var i = 0; i < length; i++) {
            bytes += inText ? ofText(piece[i]) : ofStructure(piece[i]);
        }
    }

    long bytes() {
        return bytes;
    }

    private int ofText(byte next) {
        if (escaped) {
            escaped = false;
        } else if (next == '\\') {
            escaped = true;
        } else if (next == '"') {
            inText = false;
        }
        return TEXT;
    }

    private int ofStructure(byte next) {
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
