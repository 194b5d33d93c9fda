package dev.genv.enforcer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode.ProblemConsequence;
import dev.genv.enforcer.model.ProblemTexts;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.testsupport.GeneratedSection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What people write about the rules follows from what the rules declare. A failure names what is missing, and where. */
class RuleDocumentsTest {
    private static final Path PAGES = Path.of("src/site/markdown");
    private static final Path BUG_FORM = Path.of(".github/ISSUE_TEMPLATE/bug.yml");
    private static final Pattern TABLE =
            Pattern.compile("(?m)^\\| rule \\| default \\|.*\\n\\|[- |]+\\n((?:\\|.*\\n)+)");
    private static final Pattern ROW = Pattern.compile("(?m)^\\| `([^`]+)` \\| (.+?) \\|");
    private static final Pattern OPTION = Pattern.compile("(?m)^ +- ([a-z]+(?:-[a-z]+)+)$");
    private static final Pattern NAME = Pattern.compile("`([a-z]+(?:-[a-z]+)+)`");

    private final List<String> missing = new ArrayList<>();

    @ParameterizedTest
    @ValueSource(strings = {"README.md", "src/site/markdown/rules.md"})
    void theTableOfRulesListsEachRuleWithItsDefaultInTheOrderOfTheChecks(String page) throws IOException {
        var table = TABLE.matcher(Files.readString(Path.of(page)));
        assertThat(table.find()).as("%s has a table of rules", page).isTrue();
        var rows = ROW.matcher(table.group(1)).results().toList();
        var listed = rows.stream().map(row -> row.group(1)).toList();
        reportDifferences(listed, "%s: the table of rules".formatted(page));
        for (var row : rows) {
            var rule = Rules.find(row.group(1));
            if (rule.isPresent() && !row.group(2).equals(defaultCell(rule.get()))) {
                missing.add("%s: the default of %s is %s, and not %s"
                        .formatted(page, rule.get(), defaultCell(rule.get()), row.group(2)));
            }
        }
        assertThat(missing).isEmpty();
        assertThat(listed)
                .as("%s: the table of rules has the order of the checks", page)
                .isEqualTo(names());
    }

    @Test
    void thePageOfTheRulesHasTheAdviceOfEachRule() throws IOException {
        var table = Rules.definitions().stream()
                .map(rule -> "| `%s` | %s | %s |\n".formatted(rule, rule.title(), rule.advice()))
                .collect(Collectors.joining("", "| rule | title | advice |\n| --- | --- | --- |\n", ""));
        GeneratedSection.assertSection(PAGES.resolve("rules.md"), "advice", table);
    }

    @Test
    void theFormForBugsOffersEachRule() throws IOException {
        var form = Files.readString(BUG_FORM);
        var listed =
                OPTION.matcher(form).results().map(option -> option.group(1)).toList();
        reportDifferences(listed, "bug.yml: the list of rules");
        assertThat(missing).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(
            value = ProblemConsequence.class,
            names = {"STATE_RULES_STOP", "ATTACHMENT_RULES_STOP"})
    void aProblemOfTheAttachmentsStopsTheRulesThatRequireThem(ProblemConsequence consequence) {
        assertNames(consequence, SnapshotPart.ATTACHMENTS);
    }

    @ParameterizedTest
    @EnumSource(
            value = ProblemConsequence.class,
            names = {"PROCESSES_SKIPPED", "GPUS_SKIPPED"})
    void anIncompleteListOfProcessesStopsTheRulesThatRequireAllOfThem(ProblemConsequence consequence) {
        assertNames(consequence, SnapshotPart.EVERY_PROCESS);
    }

    private void assertNames(ProblemConsequence consequence, SnapshotPart part) {
        var named = NAME.matcher(ProblemTexts.read().consequence(consequence))
                .results()
                .map(name -> name.group(1))
                .toList();
        for (var rule : Rules.definitions()) {
            if (rule.requiredParts().contains(part) != named.contains(rule.name())) {
                missing.add("ProblemConsequence.%s %s the rule %s, which %s the part %s"
                        .formatted(
                                consequence,
                                named.contains(rule.name()) ? "names" : "lacks",
                                rule,
                                named.contains(rule.name()) ? "does not require" : "requires",
                                part));
            }
        }
        assertThat(missing).isEmpty();
    }

    private void reportDifferences(List<String> listed, String where) {
        names().stream()
                .filter(rule -> !listed.contains(rule))
                .forEach(rule -> missing.add("%s lacks %s".formatted(where, rule)));
        listed.stream()
                .filter(rule -> !names().contains(rule))
                .forEach(rule -> missing.add("%s has %s, which is no rule".formatted(where, rule)));
    }

    private static String defaultCell(RuleDefinition rule) {
        return rule.hasLimit()
                ? "no limit"
                : "`%s`".formatted(rule.defaultMode().name().toLowerCase(Locale.ROOT));
    }

    private static List<String> names() {
        return Rules.definitions().stream().map(RuleDefinition::name).toList();
    }
}
