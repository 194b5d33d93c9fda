package dev.genv.enforcer.genv;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EnvsFileTest {
    private static final String CURRENT_FORMAT = """
        {
          "envs": [
            {
              "eid": "15971",
              "uid": 0,
              "creation": "20/11/2026 09:22:28",
              "username": "root",
              "config": {
                "name": null,
                "gpu_memory": "4g",
                "gpus": 1
              },
              "pids": [
                15971
              ],
              "kernel_ids": []
            }
          ]
        }\
        """;
    /** As before genv 0.9.0. */
    private static final String OLD_FORMAT = """
        {"envs": {"15971": {"uid": 0, "creation": "20/11/2026 09:22:28", "username": "root",
         "config": {"name": null, "gpu_memory": "4g", "gpus": 1}, "pids": [15971]}}}\
        """;

    private static final Environment ENVIRONMENT = new Environment(
            "15971",
            0L,
            "root",
            "20/11/2026 09:22:28",
            new Environment.Config(null, "4g", 1),
            List.of(15971),
            List.of());

    @ParameterizedTest
    @ValueSource(strings = {CURRENT_FORMAT, OLD_FORMAT})
    void readsTheCurrentAndTheOldFormat(String text) throws UnreadableException {
        var file = read(text);
        assertThat(file.environments()).containsExactly(ENVIRONMENT);
        assertThat(file.problems()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "7                                  | an environment is not an object",
                "{'uid': 1, 'pids': []}             | an environment has no eid",
                "{'eid': '', 'uid': 1, 'pids': []}  | an environment has no eid",
                "{'eid': 4, 'uid': 1, 'pids': []}   | an environment has no eid",
            })
    void entryWithoutIdDoesNotAffectOthers(String entry, String problem) throws UnreadableException {
        var file = read("{\"envs\": [%s, %s]}".formatted(entry.replace('\'', '"'), """
            {"eid": "good", "uid": 1, "pids": []}\
            """));
        assertThat(file.environments()).extracting(Environment::eid).containsExactly("good");
        assertThat(file.problems()).containsExactly(new Problem(ProblemCode.ENTRY_UNREADABLE, problem));
    }

    /** Otherwise a user could protect an environment, or deprive another user of one, with an invalid field. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '^', textBlock = """
        uid        | null                  | has a uid that is not a user's number
        uid        | -1                    | has a uid that is not a user's number
        uid        | 4294967296            | has a uid that is not a user's number
        uid        | "0"                   | has a uid that is not a user's number
        pids       | null                  | has no array of pids
        pids       | 7                     | has no array of pids
        pids       | [[]]                  | has a pid that is not a whole number
        pids       | [7, 1.5, 2147483648, "x", null] | has a pid that is not a whole number
        kernel_ids | null                  | has no array of kernel_ids
        kernel_ids | [7]                   | has a kernel id that is not text
        username   | 1                     | has a username that is not text
        creation   | []                    | has a creation that is not text
        config     | []                    | has a config that is not an object
        config     | {"gpus": "x"}         | has a gpus that is not a whole number
        config     | {"gpu_memory": 4}     | has a gpu_memory that is not text
        config     | {"name": {}}          | has a name that is not text
        """)
    void environmentWithInvalidFieldIsKept(String field, String value, String problem) throws UnreadableException {
        // The last of two fields with the same name counts.
        var file =
                read("{\"envs\": [{\"eid\": \"b\", \"uid\": 1, \"pids\": [7], \"%s\": %s}]}".formatted(field, value));
        assertThat(file.environments())
                .containsExactly(new Environment(
                        "b",
                        field.equals("uid") ? null : 1L,
                        null,
                        "",
                        new Environment.Config(null, null, null),
                        field.equals("pids") && !value.startsWith("[7") ? List.of() : List.of(7),
                        List.of()));
        assertThat(file.problems())
                .containsExactly(new Problem(ProblemCode.ENTRY_UNREADABLE, "environment b " + problem));
    }

    @Test
    void tooLongTextIsNotKept() throws UnreadableException {
        var file = read(
                "{\"envs\": [{\"eid\": \"%1$s\"}, {\"eid\": \"b\", \"uid\": 1, \"pids\": [], \"username\": \"%1$s\"}]}"
                        .formatted("x".repeat(5000)));
        assertThat(file.environments()).extracting(Environment::eid).containsExactly("b");
        assertThat(file.problems())
                .extracting(Problem::detail)
                .containsExactly(
                        "an environment has a eid longer than 4096 characters",
                        "environment b has a username longer than 4096 characters");
    }

    @ParameterizedTest
    @ValueSource(strings = {"[]", "null", "{\"envs\": 1}", "{\"devices\": []}"})
    void refusesUnknownFormats(String text) {
        assertThatThrownBy(() -> read(text))
                .isInstanceOf(UnreadableException.class)
                .hasMessage("has no \"envs\"");
    }

    private static EnvsFile read(String text) throws UnreadableException {
        return EnvsFile.of(GenvJson.read(text.getBytes(UTF_8)));
    }

    @Test
    void duplicateEntriesAreMergedInFavourOfTheEnvironment() throws UnreadableException {
        var file = read("""
            {"envs": [{"eid": "a", "uid": 1, "username": "ann", "pids": [4, 5], "config": {"gpu_memory": "900m"}},
                      {"eid": "b", "uid": 1, "pids": []},
                      {"eid": "a", "uid": 1, "username": "ann", "pids": [5, 6], "config": {"gpu_memory": "1g"},
                       "kernel_ids": ["k"]}]}\
            """);
        assertThat(file.environments()).extracting(Environment::eid).containsExactly("a", "b");
        assertThat(file.environments().getFirst())
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
                      {"eid": "a", "uid": 1, "pids": [], "config": {"gpu_memory": "2m"}}]}\
            """.formatted(config));
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
                      {"eid": "a", "uid": 1, "username": "ann", "pids": []}]}\
            """.formatted(owner));
        assertThat(file.environments()).singleElement().satisfies(merged -> {
            assertThat(merged.ownership().isDisputed()).isTrue();
            assertThat(merged.uid()).isNull();
            assertThat(merged.username()).isNull();
        });
    }
}
