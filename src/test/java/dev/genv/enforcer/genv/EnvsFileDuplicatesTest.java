package dev.genv.enforcer.genv;

import static dev.genv.enforcer.genv.EnvsFileTest.read;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EnvsFileDuplicatesTest {
    @Test
    void duplicateEntriesAreMergedInFavourOfTheEnvironment() throws UnreadableException {
        var file = read("""
                {"envs": [{"eid": "a", "uid": 1, "username": "ann", "pids": [4, 5], "config": {"gpu_memory": "900m"}},
                          {"eid": "b", "uid": 1, "pids": []},
                          {"eid": "a", "uid": 1, "username": "ann", "pids": [5, 6], "config": {"gpu_memory": "1g"},
                           "kernel_ids": ["k"]}]}""");
        assertThat(file.byId()).containsOnlyKeys("a", "b");
        assertThat(file.byId().get("a"))
                .isEqualTo(new Environment(
                        "a", 1L, "ann", "", new Environment.Config(null, "1g", null), List.of(4, 5, 6), List.of("k")));
        assertThat(file.problems())
                .containsExactly(new Problem(ProblemCode.ENTRY_UNREADABLE, "environment a is there more than once"));
    }

    /** A user who adds a capacity, or makes one unreadable, must not put another user's environment over its capacity. */
    @ParameterizedTest
    @ValueSource(strings = {"{}", "null", "[]", "{\"gpu_memory\": null}", "{\"gpu_memory\": \"much\"}"})
    void capacityAppliesOnlyWhenAllEntriesHaveOne(String config) throws UnreadableException {
        var file = read("""
                {"envs": [{"eid": "a", "uid": 1, "pids": [], "config": {"gpu_memory": "1m"}},
                          {"eid": "a", "uid": 1, "pids": [], "config": %s},
                          {"eid": "a", "uid": 1, "pids": [], "config": {"gpu_memory": "2m"}}]}""".formatted(config));
        assertThat(file.environments())
                .singleElement()
                .satisfies(merged -> assertThat(merged.capacity()).isEmpty());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"uid\": 2, \"username\": \"ann\"",
                "\"uid\": 1, \"username\": \"bob\"",
                "\"uid\": 1, \"username\": null",
                "\"uid\": \"x\", \"username\": \"ann\"",
            })
    void entriesWithDifferentOwnersAreDisputed(String owner) throws UnreadableException {
        var file = read("""
                {"envs": [{"eid": "a", "uid": 1, "username": "ann", "pids": []}, {"eid": "a", "pids": [], %s},
                          {"eid": "a", "uid": 1, "username": "ann", "pids": []}]}""".formatted(owner));
        assertThat(file.environments()).singleElement().satisfies(merged -> {
            assertThat(merged.ownership().isDisputed()).isTrue();
            assertThat(merged.uid()).isNull();
            assertThat(merged.username()).isNull();
        });
    }

    /** Users choose the number of entries of an id, so the cost must not grow faster than that number. */
    @Test
    void manyEntriesOfOneIdAreMerged() throws UnreadableException {
        var entries = IntStream.range(0, 20_000)
                .mapToObj(i -> "{\"eid\": \"a\", \"uid\": 1, \"pids\": [%d, %d]}".formatted(i, i + 20_000))
                .collect(Collectors.joining(","));
        var file = read("{\"envs\": [" + entries + "]}");
        assertThat(file.environments())
                .singleElement()
                .satisfies(merged -> assertThat(merged.pids()).hasSize(40_000));
    }
}
