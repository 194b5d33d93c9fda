package dev.genv.enforcer.node.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.UnreadableException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The entries of a state file.
 *
 * @param entries null if the file is absent or cannot be read
 */
record FuzzContent(@Nullable List<JsonNode> entries) {
    boolean containsAll(List<JsonNode> own) {
        return entries == null || entries.containsAll(own);
    }

    boolean has(Predicate<JsonNode> what) {
        return entries != null && entries.stream().anyMatch(what);
    }

    List<JsonNode> matching(Predicate<JsonNode> which) {
        return entries == null ? List.of() : entries.stream().filter(which).toList();
    }

    interface Parser {
        Object parse(JsonNode root) throws UnreadableException;
    }

    static FuzzContent of(byte @Nullable [] file, String list, Parser parser) {
        if (file == null) {
            return new FuzzContent(null);
        }
        try {
            var root = GenvJson.read(file);
            assertThat(parser.parse(root)).isNotNull();
            var entries = new ArrayList<JsonNode>();
            if (root.path(list).isArray()) {
                root.path(list).forEach(entries::add);
            }
            return new FuzzContent(entries);
        } catch (UnreadableException e) {
            return new FuzzContent(null);
        }
    }
}
