package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Rule.ExpectedExits;
import dev.genv.enforcer.policy.Rule.RuleBasis;
import dev.genv.enforcer.policy.Rule.RuleSetting;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What must hold for every rule in the list. The advice is compared with what genv's commands do. */
class RulesTest {
    private static final Pattern COMMAND = Pattern.compile("`(genv [^`]+)`");

    /**
     * Recorded from genv 1.4.3 with three GPUs, in a shell that ran {@code genv shell --init}: what was attached before and after the
     * command, for {@code config} the capacity in {@code envs.json}. Each command exited with 0. In an active environment {@code genv
     * activate} reports an error and changes nothing, and an environment was gone as soon as its shell had exited, while its nohup job ran.
     */
    private static final Map<String, String> EFFECTS = Map.of(
            "genv activate", "none → none", // CUDA_VISIBLE_DEVICES is -1
            "genv activate --gpus 1", "none → 0",
            "genv attach", "2 → 2",
            "genv attach --index 1", "none → 1",
            "genv detach", "0,2 → none",
            "genv detach --index 1", "0,1,2 → 0,2",
            "genv config gpu-memory", "8g → 8g",
            "genv config gpu-memory 8g", "none → 8g");

    @Test
    void namesAndSettingsAreUnique() {
        assertThat(Rules.definitions()).extracting(RuleDefinition::name).doesNotHaveDuplicates();
        assertThat(Rules.definitions())
                .flatExtracting(RuleDefinition::settings)
                .extracting(RuleSetting::name)
                .doesNotHaveDuplicates();
        assertThat(Rules.definitions()).filteredOn(RuleDefinition::hasLimit).hasSize(2);
    }

    @ParameterizedTest
    @MethodSource("dev.genv.enforcer.policy.Rules#definitions")
    void namesAndTextsSuitSettingsMailPageAndDocuments(RuleDefinition rule) {
        assertThat(rule.name()).matches("[a-z]+(-[a-z]+)+");
        assertThat(rule.title()).matches("[A-Z][^|`\n.]+");
        assertThat(rule.advice()).matches("[A-Z][^|\n\"]+\\.").hasSizeLessThan(400);
        assertThat(rule.settings())
                .allSatisfy(setting -> assertThat(setting.meaning()).matches("[A-Z][^|\n]+\\."));
        assertThat(rule.settings().getFirst().name())
                .as("a limit has the rule's")
                .isEqualTo(rule.name());
        assertThat(rule.modeSetting().name()).isEqualTo(rule.name() + (rule.hasLimit() ? "-mode" : ""));
        assertThat(rule.modeSetting().kind()).isEqualTo(RuleSetting.Kind.MODE);
    }

    @Test
    void checksOnlyHostsWithAllRequiredParts() {
        var checked = new ArrayList<String>();
        var rule = new RuleDefinition(
                "some-rule",
                "A title",
                "Advice.",
                RuleMode.OFF,
                RuleBasis.LISTED_PROCESSES,
                Set.of(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS),
                List.of(),
                Rule.ofHost((snapshot, _) -> checked.add(snapshot.host())));
        rule.check(
                remote(
                        host("gpu-1"),
                        host("gpu-2").missing(SnapshotPart.PROCESSES),
                        host("gpu-3").missing(SnapshotPart.ENVIRONMENTS),
                        host("gpu-4").missing(SnapshotPart.ATTACHMENTS)),
                new ExpectedExits(Set.of(), Set.of(), Set.of()),
                Limits.NONE,
                IdleLimits.DEFAULT);
        assertThat(checked).containsExactly("gpu-1", "gpu-4");
    }

    @ParameterizedTest
    @MethodSource("dev.genv.enforcer.policy.Rules#definitions")
    void eachCommandChangesExactlyOneThing(RuleDefinition rule) {
        var commands = COMMAND.matcher(rule.advice())
                .results()
                .map(command -> command.group(1).replaceAll(" [NM]$", " 1"))
                .toList();
        assertThat(commands.isEmpty()).isEqualTo(rule.equals(Rules.MAX_MEMORY_PER_USER)); // genv has no command for it
        assertThat(commands)
                .allSatisfy(command -> assertThat(EFFECTS)
                        .as("the effect of %s was recorded", command)
                        .hasEntrySatisfying(
                                command, effect -> assertThat(changes(effect)).hasSize(1)));
    }

    private static Set<String> changes(String effect) {
        var states = Arrays.stream(effect.split(" → "))
                .map(state -> Arrays.stream(state.split(","))
                        .filter(each -> !each.equals("none"))
                        .collect(Collectors.toSet()))
                .toList();
        var changes = new HashSet<>(states.getFirst());
        changes.addAll(states.getLast());
        states.getFirst().stream().filter(states.getLast()::contains).forEach(changes::remove);
        return changes;
    }
}
