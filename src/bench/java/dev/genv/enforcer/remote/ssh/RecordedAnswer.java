package dev.genv.enforcer.remote.ssh;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.function.BiFunction;
import java.util.regex.Pattern;

/** A recorded answer of a machine, for other machines and other nonces. It is fast, because it is not measured. */
final class RecordedAnswer {
    private static final Pattern WORD = Pattern.compile("[^ \n]+|[ \n]+");

    private final List<BiFunction<String, String, String>> parts = new ArrayList<>();

    /**
     * Parses the answer.
     *
     * @param nonce the nonce of the answer, which its Base64 parts contain too
     * @param machine the machine id of the answer
     */
    RecordedAnswer(String answer, String nonce, String machine) {
        var plain = new StringBuilder();
        var words = WORD.matcher(answer);
        while (words.find()) {
            var word = words.group();
            var inside = decoded(word);
            if (inside.contains(nonce)) {
                add(plain.toString(), nonce, machine);
                plain.setLength(0);
                parts.add((_, now) -> encoded(inside.replace(nonce, now)));
            } else {
                plain.append(word);
            }
        }
        add(plain.toString(), nonce, machine);
    }

    /** Returns the answer of a machine. */
    String of(String machine, String nonce) {
        var answer = new StringBuilder();
        parts.forEach(part -> answer.append(part.apply(machine, nonce)));
        return answer.toString();
    }

    private void add(String text, String nonce, String machine) {
        var pieces = text.split(nonce, -1);
        for (var i = 0; i < pieces.length; i++) {
            var piece = pieces[i];
            if (i > 0) {
                parts.add((_, now) -> now);
            }
            parts.add(piece.contains(machine) ? (here, _) -> piece.replace(machine, here) : (_, _) -> piece);
        }
    }

    private static String decoded(String word) {
        try {
            return new String(Base64.getDecoder().decode(word), StandardCharsets.ISO_8859_1);
        } catch (IllegalArgumentException e) {
            return "";
        }
    }

    private static String encoded(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.ISO_8859_1));
    }
}
