package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.RuleDefinition.RuleScope;
import dev.genv.enforcer.policy.RuleDefinition.RuleSetting;
import dev.genv.enforcer.policy.RuleDefinition.RuleSetting.Kind;
import org.junit.jupiter.api.Test;

class RuleDefinitionTest {

    @Test
    void theSettingOfTheModeHasTheNameOfTheRule() {
        var rule = withMode().build();
        assertThat(rule.settings()).containsExactly(new RuleSetting("some-rule", Kind.MODE, "The mode."));
        assertThat(rule.modeSetting().name()).isEqualTo("some-rule");
        assertThat(rule.hasLimit()).isFalse();
    }

    @Test
    void aLimitTakesTheNameOfTheRule() {
        var rule = complete(RuleDefinition.named("some-limit")
                        .limit("The limit.")
                        .limitsOfUsers("some-limits", "Of users.")
                        .mode(RuleMode.AUDIT, "The mode."))
                .build();
        assertThat(rule.settings())
                .extracting(RuleSetting::name)
                .containsExactly("some-limit", "some-limits", "some-limit-mode");
        assertThat(rule.modeSetting().name()).isEqualTo("some-limit-mode");
        assertThat(rule.hasLimit()).isTrue();
    }

    @Test
    void aRuleMustDeclareItsScopeAndWhatItRequires() {
        assertThatNullPointerException()
                .isThrownBy(() -> RuleDefinition.named("some-rule").build())
                .withMessage("a rule has a title and advice");
        assertThatNullPointerException()
                .isThrownBy(() -> RuleDefinition.named("some-rule")
                        .texts("A title", "Advice.")
                        .mode(RuleMode.OFF, "The mode.")
                        .build())
                .withMessage("a rule has a scope");
        assertThatNullPointerException()
                .isThrownBy(() -> RuleDefinition.named("some-rule")
                        .texts("A title", "Advice.")
                        .mode(RuleMode.OFF, "The mode.")
                        .scope(RuleScope.HOST)
                        .build())
                .withMessage("a rule requires parts");
    }

    @Test
    void checksOnlyHostsWithAllRequiredParts() {
        var rule = withMode().build();
        var fleet = remote(
                host("gpu-1"),
                host("gpu-2").missing(SnapshotPart.PROCESSES),
                host("gpu-3").missing(SnapshotPart.ENVIRONMENTS),
                host("gpu-4").missing(SnapshotPart.ATTACHMENTS));
        assertThat(rule.checkable(fleet)).extracting(Snapshot::host).containsExactly("gpu-1", "gpu-4");
    }

    @Test
    void itsTextIsItsName() {
        assertThat(withMode().build()).hasToString("some-rule");
    }

    private static RuleDefinition.Builder withMode() {
        return complete(RuleDefinition.named("some-rule").mode(RuleMode.OFF, "The mode."));
    }

    private static RuleDefinition.Builder complete(RuleDefinition.Builder rule) {
        return rule.texts("A title", "Advice.")
                .scope(RuleScope.HOST)
                .requires(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS);
    }
}
