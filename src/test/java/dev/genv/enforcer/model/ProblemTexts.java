package dev.genv.enforcer.model;

import dev.genv.enforcer.model.ProblemCode.ProblemConsequence;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;

/** The texts of the problems: sentences for an administrator, with code in Markdown's backquotes. */
public final class ProblemTexts {
    private final Properties texts = new Properties();

    private ProblemTexts() {}

    public static ProblemTexts read() {
        var all = new ProblemTexts();
        try (var in = Objects.requireNonNull(ProblemCode.class.getResourceAsStream("problems.properties"))) {
            all.texts.load(new InputStreamReader(in, StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return all;
    }

    public String meaning(ProblemCode code) {
        return text(code.label());
    }

    /** Returns what an administrator can do; empty if there is nothing to do. */
    public Optional<String> remedy(ProblemCode code) {
        return Optional.ofNullable(texts.getProperty(code.label() + ".remedy"));
    }

    public String consequence(ProblemConsequence consequence) {
        return text("consequence." + consequence.label());
    }

    Set<String> keys() {
        return texts.stringPropertyNames();
    }

    private String text(String key) {
        return Optional.ofNullable(texts.getProperty(key)).orElseThrow(() -> new NoSuchElementException(key));
    }
}
