package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * The lines of the agent in the output of a command. They begin with the nonce of the request, which no other program knows; all
 * other output is ignored.
 *
 * @param isReceived whether the agent began to work on the request
 * @param begun the numbers of the actions that were begun
 * @param json the answer; null if it is missing or cut off
 */
record AgentOutput(
        boolean isReceived, Set<Integer> begun, @Nullable Bytes json) {
    private static final String RECEIVED = "received\n";
    private static final String BEGUN = "begun ";
    private static final int CHECKSUM = 8;

    /**
     * Finds the lines. A last line without an end is cut off and does not count.
     *
     * @param output one char for each byte
     * @throws LostAnswerException if a line is invalid, or if there are two answers
     */
    static AgentOutput parse(String output, String nonce) throws LostAnswerException {
        var mark = mark(nonce);
        var begun = new HashSet<Integer>();
        var isReceived = false;
        Bytes json = null;
        for (int at = output.indexOf(mark), end; at >= 0; at = output.indexOf(mark, end)) {
            at += mark.length();
            end = output.indexOf('\n', at);
            if (end < 0) {
                break;
            }
            if (json != null) {
                throw new LostAnswerException("it continues after its end");
            }
            isReceived = true;
            if (output.startsWith(RECEIVED, at)) {
                continue;
            }
            if (output.startsWith(BEGUN, at)) {
                begun.add(number(output, at + BEGUN.length(), end));
            } else {
                json = checked(output, at, end);
            }
        }
        return new AgentOutput(isReceived, begun, json);
    }

    /** Returns the beginning of all lines with this nonce. */
    static String mark(String nonce) {
        return "@" + nonce + " ";
    }

    private static int number(String output, int start, int end) throws LostAnswerException {
        try {
            return Integer.parseUnsignedInt(output, start, end, 10);
        } catch (NumberFormatException _) {
            throw new LostAnswerException("it says that an action without a number was begun");
        }
    }

    /** The checksum detects bytes that were lost or inserted by a login between the agent and the service. */
    private static Bytes checked(String output, int start, int end) throws LostAnswerException {
        var separator = end - CHECKSUM - 1;
        if (separator <= start || output.charAt(separator) != ' ') {
            throw new LostAnswerException("it has no checksum");
        }
        var json = output.substring(start, separator).getBytes(StandardCharsets.ISO_8859_1);
        if (!output.startsWith(checksum(json), separator + 1)) {
            throw new LostAnswerException("its checksum is that of another text");
        }
        return Bytes.of(json);
    }

    /** Returns the CRC-32 of an answer in hexadecimal. */
    static String checksum(byte[] json) {
        var crc = new CRC32();
        crc.update(json);
        return HexFormat.of().toHexDigits((int) crc.getValue());
    }

    /** There is no valid answer to a request that may have reached the machine. */
    static final class LostAnswerException extends UnreachableException {
        private static final long serialVersionUID = 1L;

        private final transient IntPredicate mayHaveBegun;

        /** @param mayHaveBegun by the number of an action */
        LostAnswerException(ProblemCode code, String message, IntPredicate mayHaveBegun) {
            super(code, message);
            this.mayHaveBegun = mayHaveBegun;
        }

        /**
         * The answer is invalid, so any action may have begun.
         *
         * @param why a clause for people
         */
        LostAnswerException(String why) {
            this(ProblemCode.ANSWER_UNREADABLE, "its answer cannot be read: " + why, _ -> true);
        }

        boolean mayHaveBegun(int action) {
            return mayHaveBegun.test(action);
        }
    }
}
