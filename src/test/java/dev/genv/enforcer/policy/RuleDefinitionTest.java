package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Rule.RuleBasis;
import dev.genv.enforcer.policy.Rule.RuleScope;
import dev.genv.enforcer.policy.Rule.RuleSetting;
import dev.genv.enforcer.policy.Rule.RuleSetting.Kind;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RuleDefinitionTest {

    @Test
    void theSettingOfTheModeHasTheNameOfTheRule() {
        var rule = withMode();
        assertThat(rule.settings()).containsExactly(new RuleSetting("some-rule", Kind.MODE, "The mode."));
        assertThat(rule.modeSetting().name()).isEqualTo("some-rule");
        assertThat(rule.hasLimit()).isFalse();
    }

    @Test
    void aLimitTakesTheNameOfTheRule() {
        assertThat(Rules.definitions()).allSatisfy(rule -> {
            assertThat(rule.settings().getFirst().name()).isEqualTo(rule.name());
            assertThat(rule.modeSetting().name()).isEqualTo(rule.name() + (rule.hasLimit() ? "-mode" : ""));
        });
        assertThat(Rules.definitions()).filteredOn(RuleDefinition::hasLimit).hasSize(1);
    }

    @Test
    void checksOnlyHostsWithAllRequiredParts() {
        var rule = withMode();
        var fleet = remote(
                host("gpu-1"),
                host("gpu-2").missing(SnapshotPart.PROCESSES),
                host("gpu-3").missing(SnapshotPart.ENVIRONMENTS),
                host("gpu-4").missing(SnapshotPart.ATTACHMENTS));
        assertThat(rule.checkable(fleet)).extracting(Snapshot::host).containsExactly("gpu-1", "gpu-4");
    }

    @Test
    void itsTextIsItsName() {
        assertThat(withMode()).hasToString("some-rule");
    }

    private static RuleDefinition withMode() {
        return new RuleDefinition(
                "some-rule",
                "A title",
                "Advice.",
                RuleMode.OFF,
                RuleScope.HOST,
                RuleBasis.LISTED_PROCESSES,
                Set.of(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS),
                List.of(new RuleSetting("some-rule", Kind.MODE, "The mode.")));
    }
}
