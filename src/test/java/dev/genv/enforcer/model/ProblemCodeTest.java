package dev.genv.enforcer.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode.ProblemConsequence;
import dev.genv.enforcer.testsupport.GeneratedSection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ProblemCodeTest {
    private static final Path PAGE = Path.of("src/site/markdown/problems.md");
    private static final ProblemTexts TEXTS = ProblemTexts.read();
    private static final Path MAIN = Path.of("src/main/java");

    @Test
    void thePageListsEveryCodeWithMeaningConsequenceAndRemedy() throws IOException {
        var table = Arrays.stream(ProblemCode.values())
                .sorted(Comparator.comparing(ProblemCode::label))
                .map(code -> "| `%s` | %s | %s | %s |\n"
                        .formatted(
                                code.label(),
                                TEXTS.meaning(code),
                                TEXTS.consequence(code.consequence()),
                                TEXTS.remedy(code).orElse("–")))
                .collect(Collectors.joining(
                        "", "| code | meaning | consequence | what to do |\n| --- | --- | --- | --- |\n", ""));
        GeneratedSection.assertSection(PAGE, "problems", table);
    }

    @Test
    void theServiceReportsEveryCode() throws IOException {
        var code = new StringBuilder();
        try (var files = Files.walk(MAIN)) {
            for (var file :
                    files.filter(each -> each.toString().endsWith(".java")).toList()) {
                code.append(Files.readString(file));
            }
        }
        assertThat(ProblemCode.values())
                .allSatisfy(each -> assertThat(code.toString()).containsPattern("ProblemCode\\." + each + "\\b"));
    }

    @Test
    void everyTextIsThatOfACodeOrAConsequence() {
        var keys = Stream.concat(
                Arrays.stream(ProblemCode.values())
                        .map(ProblemCode::label)
                        .flatMap(code -> Stream.of(code, code + ".remedy")),
                Arrays.stream(ProblemConsequence.values()).map(each -> "consequence." + each.label()));
        assertThat(keys).containsAll(TEXTS.keys());
    }
}
