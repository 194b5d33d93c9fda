package dev.genv.enforcer.container;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.container.Flags.PodFlags;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.Yaml;

/** Every documented way to run the container grants the same tested privileges. */
class ShippedFlagsTest {
    private static final String README = "README.md";

    @Test
    void unitHasTheSamePrivilegesAsTheReadme() throws IOException {
        var unit = Flags.ofFile("docker/genv-enforcer.service");
        assertThat(PodFlags.privileges(unit)).isEqualTo(PodFlags.privileges(Flags.ofFile(README)));
        assertThat(unit.arguments())
                .containsSequence("--gpus", "all")
                .containsSequence("-p", "127.0.0.1:8080:8080", "-p", "127.0.0.1:9000:9000");
    }

    @Test
    void packagedUnitHasTheSameCapabilitiesAsTheReadme() throws IOException {
        var added = PodFlags.privileges(Flags.ofFile(README)).stream()
                .filter(flag -> flag.startsWith("--cap-add "))
                .map(flag -> flag.replace("--cap-add ", "CAP_"))
                .toList();
        var bound = Files.readAllLines(Path.of("docker/package/genv-enforcer.service")).stream()
                .filter(line -> line.contains("Capabilit") && !line.startsWith("#"))
                .toList();
        assertThat(bound).singleElement().asString().startsWith("CapabilityBoundingSet=");
        assertThat(bound.getFirst().replace("CapabilityBoundingSet=", "").split(" ", -1))
                .containsExactlyInAnyOrderElementsOf(added);
    }

    @Test
    void composeHasTheSamePrivilegesAsTheReadme() throws IOException {
        var node = compose("node");
        assertThat(privileges(node)).isEqualTo(PodFlags.privileges(Flags.ofFile(README)));
        assertThat(node.at("/deploy/resources/reservations/devices/0").toString())
                .isEqualTo("{\"driver\":\"nvidia\",\"count\":\"all\",\"capabilities\":[\"gpu\",\"utility\"]}");
        assertThat(node.path("ports").valueStream().map(JsonNode::asText))
                .containsExactly("127.0.0.1:8080:8080", "127.0.0.1:9000:9000");
    }

    @Test
    void podOfTheChartHasTheSamePrivilegesAsTheReadme() throws IOException {
        var state = Path.of("/srv/genv");
        var pod = PodFlags.of(RenderedChart.of(""), Map.of("state", state, "data", Path.of("/srv/data")));
        assertThat(PodFlags.privileges(pod)).isEqualTo(PodFlags.privileges(Flags.ofReadme(state)));
    }

    @Test
    void remoteComposeServiceHasNoPrivileges() throws IOException {
        assertThat(privileges(compose("remote")))
                .containsExactlyInAnyOrder(
                        "--cap-drop ALL", "--security-opt no-new-privileges", "--read-only", "--user 65532:65532");
    }

    /** An anonymous volume of the image would be lost with the container. */
    @Test
    void everyWayKeepsTheDatabase() throws IOException {
        assertThat(Flags.ofFile(README).arguments()).containsSequence("-v", "genv-enforcer:/var/lib/genv-enforcer");
        assertThat(Flags.ofFile("docker/genv-enforcer.service").arguments())
                .containsSequence("--mount", "type=bind,source=/var/lib/genv-enforcer,target=/var/lib/genv-enforcer");
        assertThat(compose("node").path("volumes").toString())
                .contains("{\"type\":\"volume\",\"source\":\"node\",\"target\":\"/var/lib/genv-enforcer\"}");
        var remote = compose("remote");
        assertThat(remote.path("volumes").toString())
                .isEqualTo("[{\"type\":\"volume\",\"source\":\"remote\","
                        + "\"target\":\"/var/lib/genv-enforcer-remote\"}]");
        assertThat(remote.at("/environment/GENV_ENFORCER_DATA_DIR").asText())
                .isEqualTo("/var/lib/genv-enforcer-remote");
    }

    private static Set<String> privileges(JsonNode service) {
        var privileges = new TreeSet<String>();
        service.path("cap_drop").forEach(each -> privileges.add("--cap-drop " + each.asText()));
        service.path("cap_add").forEach(each -> privileges.add("--cap-add " + each.asText()));
        service.path("security_opt")
                .forEach(
                        each -> privileges.add("--security-opt " + each.asText().replace(":true", "")));
        service.path("volumes")
                .valueStream()
                .filter(each -> each.path("type").asText().equals("bind"))
                .forEach(each -> privileges.add("--mount type=%s,source=%s,target=%s"
                        .formatted(
                                each.path("type").asText(),
                                each.path("source").asText(),
                                each.path("target").asText())));
        if (service.path("read_only").asBoolean()) {
            privileges.add("--read-only");
        }
        if (service.has("pid")) {
            privileges.add("--pid=" + service.path("pid").asText());
        }
        if (service.has("user")) {
            privileges.add("--user " + service.path("user").asText());
        }
        assertThat(service.has("privileged") || service.has("network_mode")).isFalse();
        return privileges;
    }

    private static JsonNode compose(String service) throws IOException {
        // SnakeYAML itself, because Jackson does not support << of YAML.
        Object compose = new Yaml().load(Files.readString(Path.of("docker/compose.yaml")));
        return new ObjectMapper().valueToTree(compose).path("services").path(service);
    }
}
