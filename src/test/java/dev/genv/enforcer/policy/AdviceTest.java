package dev.genv.enforcer.policy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The advice of the rules, compared with what genv's commands do. */
class AdviceTest {
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

    @ParameterizedTest
    @MethodSource("dev.genv.enforcer.policy.Rules#definitions")
    void eachCommandChangesExactlyOneThing(RuleDefinition rule) {
        var commands = COMMAND.matcher(rule.advice())
                .results()
                .map(command -> command.group(1).replaceAll(" [NM]$", " 1"))
                .toList();
        assertThat(commands)
                .isNotEmpty()
                .allSatisfy(command -> assertThat(EFFECTS)
                        .as("the effect of %s was recorded", command)
                        .hasEntrySatisfying(
                                command, effect -> assertThat(changes(effect)).hasSize(1)));
    }

    @Test
    void commandsWithoutTheirOptionsAreNoAdvice() {
        assertThat(EFFECTS.entrySet().stream()
                        .filter(effect -> changes(effect.getValue()).size() != 1)
                        .map(Map.Entry::getKey))
                .containsExactlyInAnyOrder("genv activate", "genv attach", "genv detach", "genv config gpu-memory");
    }

    @ParameterizedTest
    @MethodSource("dev.genv.enforcer.policy.Rules#definitions")
    void textsSuitMailPageAndDocuments(RuleDefinition rule) {
        assertThat(rule.title()).matches("[A-Z][^|`\n.]+");
        assertThat(rule.advice()).matches("[A-Z][^|\n\"]+\\.").hasSizeLessThan(400);
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
