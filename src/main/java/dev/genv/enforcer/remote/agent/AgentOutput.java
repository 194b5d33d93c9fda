package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.model.ProblemCode;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Set;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * The lines of the agent in the output of a command. They begin with the nonce of the request, which no other program knows; all
 * other output is ignored.
 *
 * @param begun the numbers of the actions that were begun
 * @param json the answer; null if it is missing or cut off
 */
public record AgentOutput(Set<Integer> begun, @Nullable Bytes json) {
    private static final String RECEIVED = "received\n";
    private static final String BEGUN = "begun ";
    private static final int CHECKSUM = 8;
    private static final int LONGEST_NUMBER = 9;

    /**
     * Finds the lines. A last line without an end is cut off and does not count.
     *
     * @param output one char for each byte
     * @throws UnreadableAnswerException if a line is invalid, or if there are two answers
     */
    public static AgentOutput parse(String output, String nonce) throws UnreadableAnswerException {
        var mark = mark(nonce);
        var begun = new HashSet<Integer>();
        Bytes json = null;
        for (int at = output.indexOf(mark), end; at >= 0; at = output.indexOf(mark, end)) {
            at += mark.length();
            end = output.indexOf('\n', at);
            if (end < 0) {
                break;
            }
            if (json != null) {
                throw new UnreadableAnswerException("it continues after its end");
            }
            if (output.startsWith(RECEIVED, at)) {
                continue;
            }
            if (output.startsWith(BEGUN, at)) {
                begun.add(number(output, at + BEGUN.length(), end));
            } else {
                json = checked(output, at, end);
            }
        }
        return new AgentOutput(begun, json);
    }

    /** Returns the beginning of all lines with this nonce. */
    public static String mark(String nonce) {
        return "@" + nonce + " ";
    }

    private static int number(String output, int start, int end) throws UnreadableAnswerException {
        var digits = output.substring(start, Math.min(end, start + LONGEST_NUMBER + 1));
        if (!digits.matches("[0-9]{1,9}")) {
            throw new UnreadableAnswerException("it says that an action without a number was begun");
        }
        return Integer.parseInt(digits);
    }

    /** The checksum detects bytes that were lost or inserted by a login between the agent and the service. */
    private static Bytes checked(String output, int start, int end) throws UnreadableAnswerException {
        var separator = end - CHECKSUM - 1;
        if (separator <= start || output.charAt(separator) != ' ') {
            throw new UnreadableAnswerException("it has no checksum");
        }
        var json = output.substring(start, separator).getBytes(StandardCharsets.ISO_8859_1);
        if (!output.startsWith(checksum(json), separator + 1)) {
            throw new UnreadableAnswerException("its checksum is that of another text");
        }
        return Bytes.of(json);
    }

    /** Returns the CRC-32 of an answer in hexadecimal. */
    public static String checksum(byte[] json) {
        var crc = new CRC32();
        crc.update(json);
        return HexFormat.of().toHexDigits((int) crc.getValue());
    }

    /** The answer of an agent is invalid. The message is a clause for people. */
    public static final class UnreadableAnswerException extends Exception {
        private static final long serialVersionUID = 1L;

        UnreadableAnswerException(String why, @Nullable Throwable cause) {
            super(why, cause);
        }

        public UnreadableAnswerException(String why) {
            this(why, null);
        }

        public UnreachableException unreachable() {
            return new UnreachableException(
                    ProblemCode.ANSWER_UNREADABLE, "its answer cannot be read: " + getMessage(), this);
        }
    }
}
