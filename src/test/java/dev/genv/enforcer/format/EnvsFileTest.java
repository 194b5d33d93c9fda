package dev.genv.enforcer.format;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.testsupport.StateFiles;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EnvsFileTest {
    private static final String TODAYS = """
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
            }""";
    private static final Environment ENVIRONMENT = new Environment(
            "15971",
            0L,
            "root",
            "20/11/2026 09:22:28",
            new Environment.Config(null, "4g", 1),
            List.of(15971),
            List.of());

    @Test
    void readsTheFormOfToday() throws UnreadableException {
        var file = read(TODAYS);
        assertThat(file.environments()).containsExactly(ENVIRONMENT);
        assertThat(file.byId()).containsOnlyKeys("15971");
        assertThat(file.problems()).isEmpty();
        assertThat(file.unreadable()).isEmpty();
    }

    @Test
    void writesTheFormOfTodayByteForByte() throws UnreadableException {
        assertThat(written(List.of(ENVIRONMENT))).isEqualTo(TODAYS);
        var files = new StateFiles(Path.of("unused"))
                .env("1", 1000, "ünal", null, List.of(), List.of("k1", "k2"))
                .env("2", 4294967295L, null, "x", 12, 13);
        assertThat(written(read(files.envsJson()).environments())).isEqualTo(files.envsJson());
        assertThat(written(List.of())).isEqualTo("{\n  \"envs\": []\n}");
    }

    @Test
    void readsTheFormFromBefore090() throws UnreadableException {
        var file = read("""
                {"envs": {"15971": {"uid": 0, "creation": "20/11/2026 09:22:28", "username": "root",
                 "config": {"name": null, "gpu_memory": "4g", "gpus": 1}, "pids": [15971]}}}""");
        assertThat(file.environments()).containsExactly(ENVIRONMENT);
        assertThat(file.problems()).isEmpty();
    }

    @Test
    void takesWhatMayBeNullOrMissing() throws UnreadableException {
        var file = read("""
                {"envs": [{"eid": "a", "uid": 7, "creation": null, "username": null, "config": null, "pids": []}]}""");
        assertThat(file.problems()).isEmpty();
        assertThat(file.environments())
                .containsExactly(new Environment(
                        "a", 7L, null, "", new Environment.Config(null, null, null), List.of(), List.of()));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "7                                                            | an environment is not an object",
                "{'uid': 1, 'pids': []}                                       | an environment has no eid",
                "{'eid': '', 'uid': 1, 'pids': []}                            | an environment has no eid",
                "{'eid': 4, 'uid': 1, 'pids': []}                             | an environment has no eid",
                "{'eid': 'b', 'pids': []}                        | environment b has a uid that is not a user's number",
                "{'eid': 'b', 'uid': -1, 'pids': []}             | environment b has a uid that is not a user's number",
                "{'eid': 'b', 'uid': 4294967296, 'pids': []}     | environment b has a uid that is not a user's number",
                "{'eid': 'b', 'uid': '0', 'pids': []}            | environment b has a uid that is not a user's number",
                "{'eid': 'b', 'uid': 1}                          | environment b has no array of pids",
                "{'eid': 'b', 'uid': 1, 'pids': [1.5]}           | environment b has a pid that is not a whole number",
                "{'eid': 'b', 'uid': 1, 'pids': [2147483648]}    | environment b has a pid that is not a whole number",
                "{'eid': 'b', 'uid': 1, 'pids': [], 'kernel_ids': [1]}   | environment b has a kernel id that is not text",
                "{'eid': 'b', 'uid': 1, 'pids': [], 'username': 1}       | environment b has a username that is not text",
                "{'eid': 'b', 'uid': 1, 'pids': [], 'config': []}        | environment b is not an object",
                "{'eid': 'b', 'uid': 1, 'pids': [], 'config': {'gpus': 'x'}} | environment b has a gpus that is not a whole number",
            })
    void aBadEntryCostsOnlyItselfAndIsNamed(String entry, String problem) throws UnreadableException {
        var file = read("{\"envs\": [%s, %s]}".formatted(entry.replace('\'', '"'), """
                {"eid": "good", "uid": 1, "pids": []}"""));
        assertThat(file.byId()).containsOnlyKeys("good");
        assertThat(file.problems()).containsExactly(new Problem("entry_unreadable", problem));
        assertThat(file.unreadable()).isSubsetOf("b").hasSize(problem.startsWith("environment b") ? 1 : 0);
    }

    @Test
    void anIdThatIsThereTwiceIsNobodys() throws UnreadableException {
        var file = read("""
                {"envs": [{"eid": "a", "uid": 1, "pids": []}, {"eid": "b", "uid": 1, "pids": []},
                          {"eid": "a", "uid": 2, "pids": []}]}""");
        assertThat(file.byId()).containsOnlyKeys("b");
        assertThat(file.unreadable()).containsExactly("a");
        assertThat(file.problems())
                .containsExactly(new Problem("entry_unreadable", "environment a is there more than once"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"{}", "[]", "null", "7", "{\"envs\": null}", "{\"envs\": 1}", "{\"devices\": []}"})
    void refusesWhatGenvNeverWrote(String text) {
        assertThatThrownBy(() -> read(text))
                .isInstanceOf(UnreadableException.class)
                .hasMessage("has no \"envs\"");
    }

    private static EnvsFile read(String text) throws UnreadableException {
        return EnvsFile.of(GenvJson.read(text.getBytes(UTF_8)));
    }

    private static String written(List<Environment> environments) {
        return new String(GenvJson.write(EnvsFile.write(environments)), UTF_8);
    }

    @Test
    void complaintsAreBounded() throws Exception {
        var many = "{\"envs\": [" + "7,".repeat(5000) + "7]}";
        var problems = EnvsFile.of(GenvJson.read(many.getBytes(StandardCharsets.UTF_8)))
                .problems();
        assertThat(problems).hasSize(101);
        assertThat(problems.getLast().detail()).isEqualTo("and more entries like these");
    }
}
