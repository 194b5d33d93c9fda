package dev.genv.enforcer.testsupport.fake;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.UnreadableException;
import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** Spoils things: blindly, byte by byte, or with an eye for what they are. The same seed always spoils in the same way. */
public final class Mutations {
    private static final List<String> TOKENS = List.of(
            ("\u0000 null 1e999 [[[[ {\"a\": \" } , ] -1 99999999999999999999 \\ \\u0000 \\ud800 \u00ff\u00fe true \r \n"
                            + " [N/A] NaN 0x1 GENV_ENVIRONMENT_ID=")
                    .split(" "));
    private static final List<String> FIELDS =
            List.of(("; ;0;-1;1;7;99999999999;999999999999;1e3;[N/A];[GPU is lost];[Insufficient Permissions];"
                            + "No devices were found;GPU-;\u001b[2J;1,2;\u0660")
                    .split(";"));
    private static final int DEEPEST = 200;

    private final SplittableRandom random;

    public Mutations(long seed) {
        random = new SplittableRandom(seed);
    }

    public boolean oneIn(int times) {
        return random.nextInt(times) == 0;
    }

    public int number(int bound) {
        return random.nextInt(bound);
    }

    public <T> T pick(List<T> options) {
        return options.get(random.nextInt(options.size()));
    }

    /** Some bytes of it are others, missing, there twice, or new. */
    public byte[] bytes(byte[] from) {
        var bytes = from;
        for (var times = 1 + random.nextInt(3); times > 0; times--) {
            var at = random.nextInt(bytes.length + 1);
            var end = Math.min(bytes.length, at + 1 + random.nextInt(oneIn(4) ? 400 : 8));
            bytes = switch (random.nextInt(6)) {
                case 0 -> joined(bytes, 0, at, junk(end - at), end);
                case 1 -> joined(bytes, 0, at, new byte[0], end);
                case 2 -> joined(bytes, 0, end, Arrays.copyOfRange(bytes, Math.min(at, end), end), end);
                case 3 -> joined(bytes, 0, at, junk(1 + random.nextInt(8)), at);
                case 4 -> joined(bytes, 0, at, pick(TOKENS).getBytes(StandardCharsets.ISO_8859_1), at);
                default -> oneIn(4) ? Arrays.copyOf(bytes, at) : flipped(bytes, at);
            };
        }
        return bytes;
    }

    /** Some of its values are others, of another type, missing, there twice, elsewhere, or very deep. */
    public byte[] json(byte[] from) {
        try {
            var root = GenvJson.read(from);
            var values = nodes(root);
            for (var times = 1 + random.nextInt(3); times > 0; times--) {
                mutate(
                        pick(nodes(root).stream()
                                .filter(JsonNode::isContainerNode)
                                .toList()),
                        values);
            }
            return GenvJson.write(root);
        } catch (UnreadableException e) {
            throw new IllegalArgumentException("only what is JSON can be spoilt as such", e);
        }
    }

    /** Some of its lines are missing, there twice or in another order, and some fields are others. */
    public String lines(String from) {
        var lines = new ArrayList<>(from.lines().toList());
        for (var times = 1 + random.nextInt(3); times > 0 && !lines.isEmpty(); times--) {
            var at = random.nextInt(lines.size());
            switch (random.nextInt(5)) {
                case 0 -> lines.remove(at);
                case 1 -> lines.add(random.nextInt(lines.size() + 1), lines.get(at));
                case 2 -> lines.add(at, pick(FIELDS));
                default -> {
                    var fields = lines.get(at).split(",", -1);
                    fields[random.nextInt(fields.length)] = oneIn(2)
                            ? " " + pick(FIELDS)
                            : pick(List.of(pick(lines).split(",", -1)));
                    lines.set(at, String.join(",", fields));
                }
            }
        }
        return lines.isEmpty() ? "" : String.join("\n", lines) + "\n";
    }

    private void mutate(JsonNode place, List<JsonNode> values) {
        if (place instanceof ObjectNode object) {
            var names = new ArrayList<String>();
            object.fieldNames().forEachRemaining(names::add);
            var name = names.isEmpty() || oneIn(8) ? pick(TOKENS) : pick(names);
            switch (random.nextInt(4)) {
                case 0 -> object.remove(name);
                case 1 ->
                    object.set(
                            names.isEmpty() ? name : pick(names),
                            object.path(name).deepCopy());
                default -> object.set(name, value(values));
            }
            return;
        }
        var array = (ArrayNode) place;
        var at = random.nextInt(array.size() + 1);
        if (at == array.size() || oneIn(5)) {
            array.insert(at, value(values));
            return;
        }
        switch (random.nextInt(4)) {
            case 0 -> array.remove(at);
            case 1 ->
                array.insert(random.nextInt(array.size() + 1), array.get(at).deepCopy());
            case 2 -> array.set(at, oneIn(3) ? array.deepCopy() : value(values));
            default -> {
                var changed = array.get(at).deepCopy();
                if (changed.isContainerNode()) {
                    mutate(changed, values);
                }
                array.insert(at, changed);
            }
        }
    }

    private JsonNode value(List<JsonNode> values) {
        var json = JsonNodeFactory.instance;
        return switch (random.nextInt(12)) {
            case 0 -> json.nullNode();
            case 1 -> json.numberNode(random.nextInt(-2, 3000));
            case 2 -> json.numberNode(new BigInteger("9".repeat(1 + random.nextInt(40))));
            case 3 -> json.numberNode(new BigDecimal("1e" + random.nextInt(2000)));
            case 4 -> json.textNode("");
            case 5 -> json.textNode("\u001b[2J\n\u202e\u0000\ud800".repeat(1 + random.nextInt(1000)));
            case 6 -> json.arrayNode();
            case 7 -> json.objectNode();
            case 8 -> deep();
            case 9 -> json.booleanNode(true);
            default -> pick(values).deepCopy();
        };
    }

    private JsonNode deep() {
        JsonNode node = JsonNodeFactory.instance.numberNode(1);
        for (var depth = random.nextInt(DEEPEST); depth > 0; depth--) {
            node = JsonNodeFactory.instance.arrayNode().add(node);
        }
        return node;
    }

    private static List<JsonNode> nodes(JsonNode root) {
        var all = new ArrayList<>(List.of(root));
        root.forEach(child -> all.addAll(nodes(child)));
        return all;
    }

    private byte[] junk(int count) {
        var bytes = new byte[count];
        random.nextBytes(bytes);
        return bytes;
    }

    private byte[] flipped(byte[] bytes, int at) {
        var copy = bytes.clone();
        if (at < copy.length) {
            copy[at] ^= (byte) (1 << random.nextInt(8));
        }
        return copy;
    }

    private static byte[] joined(byte[] bytes, int start, int end, byte[] middle, int from) {
        var out = new ByteArrayOutputStream();
        out.write(bytes, start, end - start);
        out.writeBytes(middle);
        out.write(bytes, from, bytes.length - from);
        return out.toByteArray();
    }
}
