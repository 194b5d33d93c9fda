package dev.genv.enforcer.policy.rule;

import static dev.genv.enforcer.policy.definition.StateChangeKind.ATTACHMENT_REMOVED;
import static dev.genv.enforcer.policy.definition.StateChangeKind.CAPACITY_REDUCED;
import static dev.genv.enforcer.policy.definition.StateChangeKind.ENVIRONMENT_ADDED;
import static dev.genv.enforcer.policy.definition.StateChangeKind.ENVIRONMENT_ENDED;
import static dev.genv.enforcer.policy.definition.StateChangeKind.OWNER_CHANGED;
import static dev.genv.enforcer.policy.definition.StateChangeKind.OWNER_FORGED;
import static dev.genv.enforcer.policy.definition.StateChangeKind.QUOTA_INCREASED;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.definition.Limits;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.definition.RuleSetting;
import dev.genv.enforcer.policy.definition.StateChangeKind;
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
    private static final Path TESTS = Path.of("src/test/java/dev/genv/enforcer/policy/rule");

    /** Changes of environments, during which the service also observes the state that one of these concerns. */
    private static final Set<StateChangeKind> WITH_OBSERVED_TIME =
            Set.of(ENVIRONMENT_ENDED, ATTACHMENT_REMOVED, CAPACITY_REDUCED, QUOTA_INCREASED, OWNER_FORGED);

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
    @MethodSource("dev.genv.enforcer.policy.rule.Rules#all")
    void everyRuleHasATestOfItsOwn(Rule rule) {
        var test = TESTS.resolve(rule.getClass().getSimpleName() + "Test.java");
        assertThat(Files.exists(test))
                .as("%s tests the rule %s", test, rule.definition())
                .isTrue();
    }

    @ParameterizedTest
    @MethodSource("dev.genv.enforcer.policy.rule.Rules#definitions")
    void nameAndTextsSuitSettingsAndDocuments(RuleDefinition rule) {
        assertThat(rule.name()).matches("[a-z]+(-[a-z]+)+");
        assertThat(rule.settings())
                .allSatisfy(setting -> assertThat(setting.meaning()).matches("[A-Z][^|\n]+\\."));
        assertThat(rule.modeSetting().kind()).isEqualTo(RuleSetting.Kind.MODE);
    }

    /** The grace after the start of the service lasts until the state was observed long enough. */
    @ParameterizedTest
    @MethodSource("dev.genv.enforcer.policy.rule.Rules#definitions")
    void aRuleThatRestsOnAnEnvironmentHasTheGraceAfterTheStart(RuleDefinition rule) {
        if (rule.restsOn(ENVIRONMENT_ADDED) || rule.restsOn(OWNER_CHANGED)) {
            assertThat(rule.restsOn())
                    .as("the rule %s also rests on a change that may have happened before the start", rule)
                    .containsAnyElementsOf(WITH_OBSERVED_TIME);
        }
    }

    @ParameterizedTest
    @MethodSource("dev.genv.enforcer.policy.rule.Rules#all")
    void noRuleFindsAnythingInAnEmptyFleet(Rule rule) {
        var nothing =
                new RuleContext(new ExpectedExits(Set.of(), Set.of(), Set.of()), new Limits(0, java.util.Map.of()));
        var result = rule.check(new Fleet(List.of(), true), nothing);
        assertThat(result.findings()).isEmpty();
        assertThat(result.problems()).isEmpty();
    }
}
