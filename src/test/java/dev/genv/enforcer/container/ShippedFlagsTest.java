package dev.genv.enforcer.container;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.Yaml;

/** Whichever way people run the container: it is granted the same, for which it was tested. */
class ShippedFlagsTest {
    private static final String README = "README.md";

    @Test
    void theUnitGrantsWhatTheReadmeGrants() throws IOException {
        var unit = Flags.in("docker/genv-enforcer.service");
        assertThat(PodFlags.rights(unit)).isEqualTo(PodFlags.rights(Flags.in(README)));
        assertThat(unit.arguments())
                .containsSequence("--gpus", "all")
                .containsSequence("-p", "127.0.0.1:8080:8080", "-p", "127.0.0.1:9000:9000");
    }

    @Test
    void composeGrantsWhatTheReadmeGrants() throws IOException {
        var node = compose("node");
        assertThat(rights(node)).isEqualTo(PodFlags.rights(Flags.in(README)));
        assertThat(node.at("/deploy/resources/reservations/devices/0").toString())
                .isEqualTo("{\"driver\":\"nvidia\",\"count\":\"all\",\"capabilities\":[\"gpu\",\"utility\"]}");
        assertThat(node.path("ports").valueStream().map(JsonNode::asText))
                .containsExactly("127.0.0.1:8080:8080", "127.0.0.1:9000:9000");
    }

    @Test
    void forOtherMachinesComposeGrantsNothing() throws IOException {
        assertThat(rights(compose("remote")))
                .containsExactlyInAnyOrder(
                        "--cap-drop ALL", "--security-opt no-new-privileges", "--read-only", "--user 65532:65532");
    }

    private static Set<String> rights(JsonNode service) {
        var rights = new TreeSet<String>();
        service.path("cap_drop").forEach(each -> rights.add("--cap-drop " + each.asText()));
        service.path("cap_add").forEach(each -> rights.add("--cap-add " + each.asText()));
        service.path("security_opt")
                .forEach(each -> rights.add("--security-opt " + each.asText().replace(":true", "")));
        service.path("volumes")
                .forEach(each -> rights.add("--mount type=%s,source=%s,target=%s"
                        .formatted(
                                each.path("type").asText(),
                                each.path("source").asText(),
                                each.path("target").asText())));
        if (service.path("read_only").asBoolean()) {
            rights.add("--read-only");
        }
        if (service.has("pid")) {
            rights.add("--pid=" + service.path("pid").asText());
        }
        if (service.has("user")) {
            rights.add("--user " + service.path("user").asText());
        }
        assertThat(service.has("privileged") || service.has("network_mode")).isFalse();
        return rights;
    }

    private static JsonNode compose(String service) throws IOException {
        // SnakeYAML itself, for Jackson does not know << of YAML.
        Object compose = new Yaml().load(Files.readString(Path.of("docker/compose.yaml")));
        return new ObjectMapper().valueToTree(compose).path("services").path(service);
    }
}
