package dev.genv.enforcer.api.openapi;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The texts and examples of the description, which lie beside the classes. */
final class ApiTexts {
    private static final String FOLDER = "/openapi/";

    private static final List<String> FILES = List.of("operations.properties", "schemas.properties");

    private final Properties texts = new Properties();
    private final ObjectMapper json = new ObjectMapper();

    ApiTexts() {
        for (var file : FILES) {
            try (var in = Objects.requireNonNull(getClass().getResourceAsStream(FOLDER + file), file)) {
                texts.load(new InputStreamReader(in, StandardCharsets.UTF_8));
            } catch (IOException e) {
                throw new UncheckedIOException(file, e);
            }
        }
    }

    /** Returns the text of the first of these keys that has one; null if none has. */
    @Nullable
    String text(String... keys) {
        return Arrays.stream(keys)
                .map(texts::getProperty)
                .filter(Objects::nonNull)
                .findFirst()
                .orElse(null);
    }

    /** Returns the words of a text; empty if there is none. */
    List<String> words(String key) {
        var words = texts.getProperty(key, "").strip();
        return words.isEmpty() ? List.of() : List.of(words.split("[ ,]+"));
    }

    /** Returns all keys. */
    Set<String> keys() {
        return texts.stringPropertyNames();
    }

    /** Returns an example; empty if there is none. One that is no JSON is a text. */
    Optional<Object> example(String name) {
        for (var suffix : List.of(".json", ".txt")) {
            try (var in = getClass().getResourceAsStream(FOLDER + "examples/" + name + suffix)) {
                if (in != null) {
                    return Optional.of(
                            suffix.equals(".json")
                                    ? json.readValue(in, Object.class)
                                    : new String(in.readAllBytes(), StandardCharsets.UTF_8));
                }
            } catch (IOException e) {
                throw new UncheckedIOException("example " + name, e);
            }
        }
        return Optional.empty();
    }
}
