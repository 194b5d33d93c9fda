package dev.genv.enforcer.policy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.Rule.ExpectedExits;
import dev.genv.enforcer.policy.Rule.RuleContext;
import dev.genv.enforcer.policy.Rule.RuleSetting;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.testsupport.KnownRules;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What must hold for every rule in the list. */
class RulesTest {
    private static final Path TESTS = Path.of("src/test/java/dev/genv/enforcer/policy");

    @Test
    void namesAndSettingsAreUnique() {
        assertThat(Rules.definitions()).extracting(RuleDefinition::name).doesNotHaveDuplicates();
        assertThat(Rules.definitions())
                .flatExtracting(RuleDefinition::settings)
                .extracting(RuleSetting::name)
                .doesNotHaveDuplicates();
    }

    @Test
    void findsARuleByItsName() {
        assertThat(Rules.find("env-devices")).contains(KnownRules.ENV_DEVICES);
        assertThat(Rules.find("ENV_DEVICES")).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("dev.genv.enforcer.policy.Rules#all")
    void everyRuleHasATestOfItsOwn(Rule rule) {
        var test = TESTS.resolve(rule.getClass().getSimpleName() + "Test.java");
        assertThat(Files.exists(test))
                .as("%s tests the rule %s", test, rule.definition())
                .isTrue();
    }

    @ParameterizedTest
    @MethodSource("dev.genv.enforcer.policy.Rules#definitions")
    void nameAndTextsSuitSettingsAndDocuments(RuleDefinition rule) {
        assertThat(rule.name()).matches("[a-z]+(-[a-z]+)+");
        assertThat(rule.settings())
                .allSatisfy(setting -> assertThat(setting.meaning()).matches("[A-Z][^|\n]+\\."));
        assertThat(rule.modeSetting().kind()).isIn(RuleSetting.Kind.MODE, RuleSetting.Kind.REPORT_MODE);
    }

    @ParameterizedTest
    @MethodSource("dev.genv.enforcer.policy.Rules#all")
    void noRuleFindsAnythingInAnEmptyFleet(Rule rule) {
        var nothing =
                new RuleContext(new ExpectedExits(Set.of(), Set.of(), Set.of()), new Limits(0, java.util.Map.of()));
        var result = rule.check(new Fleet(List.of(), true), nothing);
        assertThat(result.findings()).isEmpty();
        assertThat(result.problems()).isEmpty();
    }
}
